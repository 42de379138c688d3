package pipeline

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// evidence is what the transport's trace tells about an attempt. Its hooks may
// run on other goroutines, and over HTTP/2 after RoundTrip has returned.
type evidence struct {
	asked   atomic.Bool  // for a connection
	awaited atomic.Int32 // connections that were asked for and not got
	got     atomic.Int32 // connections
	headers atomic.Int32 // that were written, as far as it was told
	sends   atomic.Int32 // requests that a server may have, no matter whether whole
	reused  atomic.Bool  // the last connection had been used before
	whole   atomic.Bool  // it speaks HTTP/1, and net/http's own transport says when it has the headers out
	halted  atomic.Bool  // the transport was stopped from sending the request once more
	own     bool         // the base is net/http's own transport; several sends of another are its own affair
	http1   bool         // what is not encrypted is HTTP/1 for certain
}

// errResent is the cause with which an attempt is ended that the transport
// sends again and again.
var errResent = errors.New("resilient: the transport keeps sending the request again")

// maxSends is how often net/http may send the request of one attempt. Over HTTP/2
// it has loops without an end of their own (golang/go#52459), over HTTP/1 it goes
// through all pooled connections, which may be many.
const maxSends = 2

// connected and wrote count sends. Over HTTP/1 a request is sent when its headers are
// in the connection's buffer, which net/http tells before it flushes that and before
// the attempt or its next send goes on: without the hook, nothing complete can have
// been written. Over HTTP/2 the writer is not waited for, so there it counts that a
// connection was obtained.
func (g *gear) connected(c httptrace.GotConnInfo) {
	e := &g.seen
	e.reused.Store(c.Reused)
	e.got.Add(1)
	whole := e.own && !e.http2(c.Conn)
	e.whole.Store(whole)
	e.awaited.Add(-1)
	if _, encrypted := c.Conn.(secured); !encrypted && !whole && c.Reused {
		e.awaited.Add(-1) // for one of HTTP/2 in cleartext that is there already, net/http asks twice
	}
	if e.own && e.sends.Load() >= maxSends {
		e.halted.Store(true)
		g.attempt.cancel(errResent) // before it writes, an HTTP/2 connection looks at the context
		if whole {
			_ = c.Conn.Close() // one of HTTP/1 does not, but it is nobody else's
		}
		return
	}
	if !whole {
		e.sends.Add(1)
	}
}

func (e *evidence) ask() {
	e.asked.Store(true)
	e.awaited.Add(1)
}

func (e *evidence) wrote() {
	if e.whole.Load() {
		e.sends.Add(1)
	}
	e.headers.Add(1)
}

// settled reports that no hook is left to be called, once net/http's own transport
// has returned: only headers are told of by another goroutine, once a connection. A
// connection that is still awaited is that of another request, which somebody sends with
// the context of this one to get it a connection: for a proxy's token, say.
func (e *evidence) settled() bool {
	return e.awaited.Load() == 0 && e.headers.Load() == e.got.Load()
}

// secured is a connection with TLS.
type secured interface{ ConnectionState() tls.ConnectionState }

func (e *evidence) http2(c net.Conn) bool {
	if t, ok := c.(secured); ok {
		return t.ConnectionState().NegotiatedProtocol == "h2"
	}
	return !e.http1
}

// unsent reports that no connection was obtained, or over HTTP/1 none that the
// headers were written to, so that no request can have arrived. A transport that
// does not trace says nothing about that: it must have been seen asking for one.
func (e *evidence) unsent() bool { return e.asked.Load() && e.count() == 0 }

// count is how many requests the server may have, at most: 0 if certainly none,
// and 1 for a transport that does not trace.
func (e *evidence) count() int32 {
	if !e.asked.Load() {
		return 1
	}
	if e.halted.Load() {
		return maxSends
	}
	return e.sends.Load()
}

// replayed reports whether net/http's own transport has sent the request again. A
// base of another kind may have to ask several times, to log in for instance.
func (e *evidence) replayed() bool { return e.own && e.count() > 1 }
