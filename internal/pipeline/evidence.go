package pipeline

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// evidence is what the transport's trace tells about an attempt. Its hooks may
// run on other goroutines, and after RoundTrip has returned.
type evidence struct {
	asked  atomic.Bool  // for a connection
	got    atomic.Int32 // connections: one for each time that the request was sent
	reused atomic.Bool  // the last had been used before
	halted atomic.Bool  // the transport was stopped from sending it once more
	halt   func()       // ends the attempt; nil: several sends are the base's own affair
	http1  bool         // what is not encrypted is HTTP/1 for certain
}

// errResent is the cause with which an attempt is ended that the transport
// sends again and again.
var errResent = errors.New("resilient: the transport keeps sending the request again")

// maxSends is how often net/http may send the request of one attempt over
// HTTP/2, where it has loops without an end of their own (golang/go#52459). Over
// HTTP/1 it goes through the pooled connections that turn out dead, most of which
// nothing is written to, and ends with the first new one.
const maxSends = 2

func (e *evidence) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { e.asked.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			e.reused.Store(c.Reused)
			if e.got.Add(1) > maxSends && e.halt != nil && e.http2(c.Conn) {
				e.halted.Store(true)
				e.halt() // before it writes, an HTTP/2 connection looks at the context
			}
		},
	}
}

func (e *evidence) http2(c net.Conn) bool {
	if t, ok := c.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return t.ConnectionState().NegotiatedProtocol == "h2"
	}
	return !e.http1
}

// unsent reports that no connection was obtained, so that nothing can have
// been sent. A transport that does not trace says nothing about that: it must
// have been seen asking for one.
func (e *evidence) unsent() bool { return e.asked.Load() && e.got.Load() == 0 }

// replays is how often the transport has sent the request again by itself. A base
// of another kind may have to ask several times, to log in for instance.
func (e *evidence) replays() int {
	sends := int(e.got.Load())
	if e.halted.Load() {
		sends = maxSends
	}
	if e.halt == nil {
		return 0
	}
	return sends - 1
}
