package httptestx

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Malformation is what is wrong with the answer of [Malformed].
type Malformation uint8

// The malformations of an answer: Gzip is for every protocol, BadHPACK and HugeFrame are for HTTP/2 only, and
// the others for HTTP/1 only.
const (
	StatusLine    Malformation = iota + 1 // a status code that is no number
	Header                                // a header line without a colon
	ContentLength                         // a Content-Length that is no number
	Chunk                                 // half of the body in a good chunk, then a chunk size that is no number
	Gzip                                  // a compressed body that is whole, but fails its checksum
	Garbage                               // a line that is no HTTP at all
	BadHPACK                              // headers that cannot be decompressed (RFC 7541, section 6.1): COMPRESSION_ERROR
	HugeFrame                             // a frame that is larger than any client allows by itself (RFC 9113, section 4.2)
)

// String returns the malformation as the time-line shows it: "statusline".
func (m Malformation) String() string {
	names := [...]string{"invalid", "statusline", "header", "contentlength", "chunk", "gzip", "garbage", "badhpack", "hugeframe"}
	if int(m) >= len(names) {
		return names[0]
	}
	return names[m]
}

// Malformed answers with something that breaks the rules of HTTP, made from the
// handler's answer if [Handle] came before it, else, without the handler, from a short
// answer with status 200. As for [Status], the whole request is read first.
//
// After [Gzip] the plan goes on as after Status: the answer can be sent in parts, and the
// connection lives on. (net/http's client reports the checksum when it has read
// the whole body, if it asked for compression by itself; a client that did not sees the
// compressed bytes.) [BadHPACK] and [HugeFrame] end the plan, and the connection with all that is on it: the
// frame is the last that is sent, and no client can go on behind it. All others take the connection as [SendRaw]
// does, with the same steps that can follow.
//
// A malformation that the protocol of the request does not have fails the test. So do [Chunk] and Gzip for an
// answer that has no body.
func Malformed(kind Malformation) Step {
	if kind < StatusLine || kind > HugeFrame {
		return invalid("malformed(%d): no such malformation", kind)
	}
	return Step{op: opMalformed, n: int64(kind)}
}

func (x *run) malformed(st Step) EndState {
	if x.held == nil {
		if end := x.status(Status(http.StatusOK)); end != Running {
			return end
		}
	}
	kind := Malformation(st.n)
	if kind.isFrame() {
		return x.breakFrame(st, kind)
	}
	if (kind == Chunk || kind == Gzip) && (x.r.Method == http.MethodHead || !x.held.bodyAllowed()) {
		return x.cannot(st, "the answer has no body")
	}
	if kind == Gzip {
		x.held.breakGzip()
		x.log.update(func(e *Exchange) { e.garbled = true })
		return Running
	}
	return x.sendRaw(st, x.held.malformed(kind))
}

// notNumber stands where a number must.
const notNumber = "many"

// malformed returns the answer with a fault, in the form of HTTP/1.1.
func (h *held) malformed(kind Malformation) []byte {
	if kind == Garbage {
		return []byte("\x00\x01\x02not-HTTP\r\n\r\n")
	}
	code, header, body := strconv.Itoa(h.status), h.fixed.Clone(), h.body.String()
	var b bytes.Buffer
	if kind == StatusLine {
		code = notNumber
	}
	fmt.Fprintf(&b, "HTTP/1.1 %s %s\r\n", code, http.StatusText(h.status))
	switch kind {
	case Header:
		b.WriteString("This line has no colon\r\n")
	case ContentLength:
		header.Set("Content-Length", notNumber)
	case Chunk:
		header.Del("Content-Length")
		header.Set("Transfer-Encoding", "chunked")
		body = brokenChunks(body)
	}
	_ = header.Write(&b) // a buffer takes all
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

// brokenChunks returns half of the body in chunks, and a chunk without a size. No
// chunk may be empty: that would be the proper end.
func brokenChunks(body string) string {
	var b strings.Builder
	if half := body[:len(body)/2]; half != "" {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(half), half)
	}
	b.WriteString(notNumber + "\r\n")
	return b.String()
}

// breakGzip compresses the body, unless the handler has, and flips a bit of the
// checksum, which is in the last 8 bytes (RFC 1952, section 2.3.1).
func (h *held) breakGzip() {
	if h.fixed.Get("Content-Encoding") == "" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(h.body.Bytes()) // a buffer takes all
		w.Close()
		h.body = packed
		h.fixed.Set("Content-Encoding", "gzip")
		if !h.hasTrailers() {
			h.fixed.Set("Content-Length", strconv.Itoa(h.body.Len()))
		}
		h.short = false
	}
	if b := h.body.Bytes(); len(b) >= 8 {
		b[len(b)-8] ^= 1
	}
}
