package httptestx

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// held is a response that waits to be sent. It is the ResponseWriter of a
// handler whose plan goes on after Handle.
type held struct {
	header http.Header // what the handler sees, and may still change: trailers
	status int         // 0 until the header is written
	fixed  http.Header // the header as it was when it was written
	body   bytes.Buffer
	short  bool // the handler declared a longer body
}

func newHeld() *held { return &held{header: make(http.Header)} }

// canned is the held response of a Status step.
func canned(st Step) *held {
	h := newHeld()
	h.header = st.header()
	h.WriteHeader(int(st.n))
	if h.bodyAllowed() {
		h.body.WriteString(http.StatusText(h.status))
	}
	return h
}

func (h *held) Header() http.Header { return h.header }

// WriteHeader drops 1xx: nothing can be sent while the response is held.
func (h *held) WriteHeader(code int) {
	if h.status != 0 || code < 200 {
		return
	}
	h.status = code
	h.fixed = h.header.Clone()
}

func (h *held) Write(p []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	if !h.bodyAllowed() {
		return 0, http.ErrBodyNotAllowed
	}
	return h.body.Write(p)
}

// Flush makes held an [http.Flusher]; there is nowhere to flush to.
func (h *held) Flush() { h.WriteHeader(http.StatusOK) }

func (h *held) bodyAllowed() bool { return h.status != 204 && h.status != 304 }

// seal completes the response when the handler has returned, as net/http would
// if it were not sent in parts: the status, the type of the body, and its length, by
// which a body that is cut can be told from a whole one. Trailers need chunks.
func (h *held) seal(method string) {
	h.WriteHeader(http.StatusOK)
	if h.body.Len() > 0 && h.fixed["Content-Type"] == nil && h.fixed["Content-Encoding"] == nil {
		h.fixed.Set("Content-Type", http.DetectContentType(h.body.Bytes()))
	}
	length, err := strconv.ParseUint(h.fixed.Get("Content-Length"), 10, 31)
	declared := int(length)
	switch {
	case err == nil:
		h.body.Truncate(min(h.body.Len(), declared)) // net/http refuses the excess
	case method == http.MethodHead && h.body.Len() == 0: // the length is not known
	case h.bodyAllowed() && !h.hasTrailers():
		declared = h.body.Len()
		h.fixed.Set("Content-Length", strconv.Itoa(declared))
	}
	if method == http.MethodHead || !h.bodyAllowed() {
		h.body.Reset()
		return
	}
	h.short = h.body.Len() < declared
}

func (h *held) hasTrailers() bool {
	for name := range h.header {
		if name == "Trailer" || strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// writeHeader sends the status line and the headers.
func (h *held) writeHeader(w http.ResponseWriter) {
	for name, values := range h.fixed {
		w.Header()[name] = slices.Clip(values) // what is kept must not grow
	}
	w.WriteHeader(h.status)
}

// sendTo sends all of the response.
func (h *held) sendTo(w http.ResponseWriter) {
	h.writeHeader(w)
	if h.body.Len() > 0 {
		_, _ = w.Write(h.body.Bytes()) // net/http knows of a client that has gone
	}
	h.writeTrailers(w)
}

// writeTrailers gives net/http the headers as they are now; it picks the
// trailers. The flush makes it send chunks; without, it would find the body short
// enough to say its length, and drop the trailers.
func (h *held) writeTrailers(w http.ResponseWriter) {
	if !h.hasTrailers() {
		return
	}
	http.NewResponseController(w).Flush()
	for name, values := range h.header {
		w.Header()[name] = slices.Clip(values)
	}
}

// tap is the ResponseWriter of a handler that answers by itself: it records
// what passes. Everything that net/http offers beyond the methods below is
// reached by [http.ResponseController] through Unwrap.
type tap struct {
	http.ResponseWriter
	log entry
}

func (t *tap) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tap) WriteHeader(code int) {
	t.note(code)
	t.ResponseWriter.WriteHeader(code)
}

func (t *tap) Write(p []byte) (int, error) {
	t.note(http.StatusOK)
	t.count(len(p))
	n, err := t.ResponseWriter.Write(p)
	t.count(n - len(p))
	return n, err
}

// count records n more bytes of the body, or takes back those that failed.
func (t *tap) count(n int) {
	t.log.update(func(x *Exchange) {
		if n == 0 || x.cut || x.Method == http.MethodHead { // net/http sends no body then
			return
		}
		x.Bytes += int64(n)
		x.Sent = SentPartial
		if x.Bytes == 0 {
			x.Sent = SentHeaders
		}
	})
}

// note records a status; the first final one counts, as in net/http.
func (t *tap) note(code int) {
	t.log.update(func(x *Exchange) {
		switch {
		case x.Status != 0 || x.cut:
		case code < 200 && code != http.StatusSwitchingProtocols:
			x.Sent = SentInfo
		default:
			x.Status, x.Sent = code, SentHeaders
		}
	})
}

// Flush implements [http.Flusher].
func (t *tap) Flush() { t.FlushError() }

// FlushError is what [http.ResponseController] looks for first.
func (t *tap) FlushError() error {
	t.note(http.StatusOK)
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// Hijack implements [http.Hijacker]. The handler gets the connection as the
// listener returned it, a *net.TCPConn on loopback, or a *tls.Conn.
func (t *tap) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.log.end(EndHijacked)
	if own, ok := c.(*conn); ok {
		return own.stream(), rw, nil
	}
	return c, rw, nil
}
