package pipeline

import (
	"net/http/httptrace"
	"sync/atomic"
)

// evidence is what the transport's trace tells about an attempt. Its hooks may
// run on other goroutines, and after RoundTrip has returned.
type evidence struct {
	asked  atomic.Bool // for a connection
	got    atomic.Bool // a connection
	reused atomic.Bool // one that had been used before
}

func (e *evidence) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { e.asked.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			e.reused.Store(c.Reused)
			e.got.Store(true)
		},
	}
}

// unsent reports that no connection was obtained, so that nothing can have
// been sent. A transport that does not trace says nothing about that: it must
// have been seen asking for one.
func (e *evidence) unsent() bool { return e.asked.Load() && !e.got.Load() }
