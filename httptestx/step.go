package httptestx

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Step is one thing the server does with a request. Steps are values: they can
// be compared with == and printed. The zero Step is invalid.
type Step struct {
	op    op
	n     int64         // nanoseconds of a delay, status code, bytes to send, kind of malformation
	text  string        // header lines of a status; raw bytes; what is wrong with an invalid step
	every time.Duration // between the pieces of Slow
	dist  Dist          // of Latency
}

// op is the kind of a [Step].
type op uint8

const (
	opNone op = iota
	opInvalid
	opRead
	opHandle
	opDelay
	opStatus
	opSend
	opReset
	opClose
	opHang
	opLatency
	opInformational
	opSendRaw
	opSlow
	opMalformed
	opResetStream
	opGoAway
	opRefuse
	opAccept
	opNoSuchHost
	opHandshakeFail
)

// The steps without parameters.
var (
	// Read reads the whole request. [Status] and a [Handle] that is followed by
	// other steps imply it; it is of use before [Reset], [Close] and [Hang],
	// which otherwise leave the request body unread.
	Read = Step{op: opRead}

	// Handle runs the handler. As the last step it is what net/http does: the
	// handler reads and answers by itself, can flush, hijack and send 1xx. When
	// steps follow, the whole request is read first and the response is held back until
	// [Send] or the end of the plan; flushes and 1xx then do nothing, and
	// hijacking is not supported.
	Handle = Step{op: opHandle}

	// SendHeaders sends the status line and the headers of the held response, and
	// nothing of its body. It is the same step as Send(0).
	SendHeaders = Step{op: opSend}

	// Reset ends the plan and the connection with a TCP RST, also under TLS. What
	// was sent before stays readable for the client. On HTTP/2 other requests on the connection end
	// with it, as they do with Close.
	Reset = Step{op: opReset}

	// Close ends the plan and the connection in an orderly way: a FIN is sent,
	// then input is discarded until the client closes as well, so that unread
	// input does not turn the FIN into a reset.
	Close = Step{op: opClose}

	// Hang ends the plan by doing nothing more, until the client goes away or
	// the server is closed. A hanging server does not read either: with a part
	// of the request unread, a client that goes away is noticed at once in memory,
	// but on loopback only when the server is closed.
	Hang = Step{op: opHang}
)

// Delay waits for d, zero or more, also when the client has gone away
// meanwhile: the steps after it happen, as they do on a slow server. Closing
// the server ends the wait and the plan.
func Delay(d time.Duration) Step {
	if d < 0 {
		return invalid("delay(%v): negative", d)
	}
	return Step{op: opDelay, n: int64(d)}
}

// Status answers with a final status code (200 to 999) and a short text,
// instead of the handler's answer if [Handle] came before it, else
// without the handler. kv are header names and values in turn:
//
//	Status(503, "Retry-After", "30")
//
// The whole request is read first, except if the client waits for a "100
// Continue" before it sends the body.
func Status(code int, kv ...string) Step {
	name := fmt.Sprintf("status(%d)", code)
	if code < 200 || code > 999 {
		return invalid("%s: not a final status code, 200 to 999", name)
	}
	return withHeader(Step{op: opStatus, n: int64(code)}, name, kv)
}

// withHeader puts header names and values into a step; name is for the complaint.
func withHeader(s Step, name string, kv []string) Step {
	if len(kv)%2 != 0 {
		return invalid("%s: header %q has no value", name, kv[len(kv)-1])
	}
	lines := make([]string, 0, len(kv)/2)
	for i := 0; i < len(kv); i += 2 {
		field, value := kv[i], kv[i+1]
		if !isToken(field) || strings.ContainsAny(value, "\r\n") {
			return invalid("%s: malformed header %q: %q", name, field, value)
		}
		field = http.CanonicalHeaderKey(field) + ": "
		at := len(lines) // behind its like: the order of different names means nothing
		for j, line := range lines {
			if strings.HasPrefix(line, field) {
				at = j + 1
			}
		}
		lines = slices.Insert(lines, at, field+value)
	}
	s.text = strings.Join(lines, "\n")
	return s
}

// isToken reports whether s can be the name of a header field (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	})
}

// Send sends the status line, the headers and the body of the held response up
// to its n-th byte; Send(0) is [SendHeaders], and bytes that an earlier
// Send has sent are not repeated. The response says its full length, so that a
// client can tell that the rest is missing.
func Send(n int) Step {
	if n < 0 {
		return invalid("send(%d): negative", n)
	}
	return Step{op: opSend, n: int64(n)}
}

func invalid(format string, args ...any) Step {
	return Step{op: opInvalid, text: fmt.Sprintf(format, args...)}
}

// String returns the step as the time-line shows it: "handle", "delay(2s)",
// "status(503, Retry-After: 30)".
func (s Step) String() string {
	switch s.op {
	case opRead:
		return "read"
	case opHandle:
		return "handle"
	case opDelay:
		return fmt.Sprintf("delay(%v)", time.Duration(s.n))
	case opStatus:
		return "status" + s.codeWords()
	case opInformational:
		return "informational" + s.codeWords()
	case opSend:
		if s.n == 0 {
			return "sendheaders"
		}
		return fmt.Sprintf("send(%d)", s.n)
	case opLatency:
		return fmt.Sprintf("latency(%v)", s.dist)
	case opSendRaw:
		return fmt.Sprintf("sendraw(%s)", rawWords(s.text))
	case opSlow:
		return fmt.Sprintf("slow(%d, %v)", s.n, s.every)
	case opMalformed:
		return fmt.Sprintf("malformed(%v)", Malformation(s.n))
	case opReset:
		return "reset"
	case opClose:
		return "close"
	case opHang:
		return "hang"
	case opResetStream, opGoAway:
		return s.http2Words()
	case opRefuse, opAccept, opNoSuchHost, opHandshakeFail:
		return s.connWords()
	case opInvalid:
		return s.text
	}
	return "zero step"
}

// terminal reports whether nothing can follow s in a plan.
func (s Step) terminal() bool {
	return s.op == opReset || s.op == opClose || s.op == opHang || s.op == opResetStream || s.refuses() || s.breaksFrame()
}

// raw reports whether s takes the connection away from net/http, so that only
// raw bytes can follow.
func (s Step) raw() bool {
	return s.op == opSendRaw || s.op == opMalformed && Malformation(s.n) != Gzip && !s.breaksFrame()
}

// needsNoHTTP reports whether s can follow raw bytes.
func (s Step) needsNoHTTP() bool {
	switch s.op {
	case opDelay, opLatency, opSendRaw, opSlow, opReset, opClose, opHang:
		return true
	}
	return false
}

// answers reports whether s is, or replaces, a response.
func (s Step) answers() bool {
	return s.op == opHandle || s.op == opStatus || s.op == opMalformed || s.op == opSendRaw
}

// codeWords renders a status code with its header fields.
func (s Step) codeWords() string {
	return fmt.Sprintf("(%s)", strings.Join(append([]string{fmt.Sprint(s.n)}, s.headerLines()...), ", "))
}

func (s Step) headerLines() []string {
	if s.text == "" {
		return nil
	}
	return strings.Split(s.text, "\n")
}

// header returns the header fields of a status, final or informational.
func (s Step) header() http.Header {
	h := make(http.Header)
	for _, line := range s.headerLines() {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}
