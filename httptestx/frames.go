package httptestx

import (
	"encoding/binary"
	"strconv"
)

// What this package knows of HTTP/2 frames: their kinds, flags and layout (RFC
// 9113, sections 4.1 and 6). It reads no header fields, and so needs no HPACK.
const (
	frameHeadLen = 9

	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagEndHeaders = 0x4
)

// preface is what a client of HTTP/2 sends first (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frameHead is the head of a frame.
type frameHead struct {
	length      int
	kind, flags byte
	stream      uint32
}

// parseHead needs frameHeadLen bytes.
func parseHead(b []byte) frameHead {
	return frameHead{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   b[3],
		flags:  b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// endsHeaders reports whether a header block ends with this frame.
func (h frameHead) endsHeaders() bool {
	return (h.kind == frameHeaders || h.kind == frameContinuation) && h.flags&flagEndHeaders != 0
}

func appendFrame(dst []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	dst = binary.BigEndian.AppendUint32(dst, stream)
	return append(dst, payload...)
}

// cutFrame returns the first frame of b and the rest; ok is false if b does not
// hold all of it.
func cutFrame(b []byte) (h frameHead, frame, rest []byte, ok bool) {
	if len(b) < frameHeadLen {
		return frameHead{}, nil, b, false
	}
	h = parseHead(b)
	n := frameHeadLen + h.length
	if len(b) < n {
		return frameHead{}, nil, b, false
	}
	return h, b[:n], b[n:], true
}

// streamField is the header field that tells the server, behind net/http, which
// stream a request came on. It is taken out before anybody else sees it.
const streamField = "Httptestx-Stream"

// tagger adds a streamField to each request of a stream of frames. It ends the
// header block not where the client does, but with a CONTINUATION frame of its own (RFC
// 9113, section 6.10), so that no frame of the client changes but for one flag: padding,
// priority and the limit on the size of a frame need no care. The field is a literal
// without indexing (RFC 7541, section 6.2.2), which leaves the compression as it is.
type tagger struct {
	head    []byte // the head of a frame, as far as it is there
	left    int    // bytes of the payload in progress
	last    uint32 // the highest stream that the client has opened
	pending uint32 // the stream whose header block is not complete; 0 if there is none
	due     bool   // the block of pending ends with the payload in progress
}

// feed appends p to dst, tagged. Only a part of a head is kept back.
func (t *tagger) feed(dst, p []byte) []byte {
	for len(p) > 0 {
		if t.left == 0 {
			n := min(len(p), frameHeadLen-len(t.head))
			t.head = append(t.head, p[:n]...)
			p = p[n:]
			if len(t.head) < frameHeadLen {
				return dst
			}
			t.begin()
			dst = append(dst, t.head...)
			t.head = t.head[:0]
		}
		n := min(len(p), t.left)
		dst = append(dst, p[:n]...)
		p = p[n:]
		t.left -= n
		if t.left == 0 && t.due {
			dst = appendFrame(dst, frameContinuation, flagEndHeaders, t.pending, tagFor(t.pending))
			t.pending, t.due = 0, false
		}
	}
	return dst
}

// begin looks at a complete head. A client opens streams in ascending, odd
// numbers (RFC 9113, section 5.1.1), so a lower number is that of trailers.
func (t *tagger) begin() {
	h := parseHead(t.head)
	t.left = h.length
	if h.kind == frameHeaders && h.stream > t.last && h.stream%2 == 1 {
		t.last, t.pending = h.stream, h.stream
	}
	if t.pending != 0 && h.stream == t.pending && h.endsHeaders() {
		t.head[4] &^= flagEndHeaders
		t.due = true
	}
}

// tagFor returns the field in the form of HPACK. Its name and value are shorter than
// 127 bytes, so that their lengths are a byte each.
func tagFor(stream uint32) []byte {
	value := strconv.FormatUint(uint64(stream), 10)
	b := append([]byte{0, byte(len(streamField))}, lowerStreamField...)
	b = append(b, byte(len(value)))
	return append(b, value...)
}

// lowerStreamField is the field's name on the wire (RFC 9113, section 8.2.1).
const lowerStreamField = "httptestx-stream"
