package httptestx

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// slowClose is how long Close waits before it says what it waits for.
const slowClose = 5 * time.Second

// Close cuts all connections and refuses new ones. Hung and delayed requests
// are let go at once; the contexts of running handlers are cancelled, and
// Close returns when the handlers have. It may be called more than once.
func (s *Server) Close() {
	// No request is missed: enter and adopt check closed under the lock that sets
	// it, so whatever got in before is counted and its connection is in conns,
	// and whatever comes later is turned away. net/http tells of a new connection in
	// the accept loop, which has ended before serving is looked at.
	s.mu.Lock()
	s.closed = true
	started := s.listener != nil
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()

	s.endLife()
	s.memory.Close()
	if started {
		s.Config.Close()
		for _, c := range conns {
			c.Close() // those that net/http had not counted yet, and hijacked ones
		}
		<-s.served
		s.drain()
	}
	s.client.CloseIdleConnections()
	s.journal.close()
}

// drain waits for what is running. Its report is made before it returns, or
// never: a test that has ended must not be logged to.
func (s *Server) drain() {
	reported := make(chan struct{})
	timer := time.AfterFunc(slowClose, func() {
		defer close(reported)
		s.t.Logf("httptestx: Close is waiting for handlers to return\n%s", s.timeline(s.Exchanges()))
	})
	s.mu.Lock()
	for s.running > 0 || s.serving > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if !timer.Stop() {
		<-reported
	}
}

// enter counts a request in, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running++
	}
	return !s.closed
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.idle.Broadcast()
}

// planForWire returns the plan for a connection: in memory that of its dial.
func (s *Server) planForWire(w wire) []Step {
	if m, ok := w.(*memConn); ok {
		return m.plan
	}
	return s.connPlan()
}

// adopt makes an accepted connection one of the server's.
func (s *Server) adopt(w wire) (net.Conn, error) {
	plan := s.planForWire(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		w.Close()
		return nil, net.ErrClosed
	}
	s.accepted++
	if m, ok := w.(*memConn); ok {
		m.id = s.accepted
	}
	c := &conn{wire: w, srv: s, id: s.accepted, plan: plan}
	c.life, c.endLife = context.WithCancel(s.life)
	if s.tls != nil {
		c.tls = tls.Server(w, s.tls)
	}
	if s.http2 {
		c.out = newOutbound(c.stream())
	}
	s.conns[c] = true
	return c, nil
}

// hook makes the server see what Config serves; the test's own hooks run as well.
// The last state of a connection is set when its goroutine is about to end.
func (s *Server) hook() {
	cfg := s.Config
	s.handler = cfg.Handler
	if s.handler == nil {
		s.handler = http.DefaultServeMux
	}
	cfg.Handler = http.HandlerFunc(s.serve)

	connContext := cfg.ConnContext
	cfg.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		return context.WithValue(ctx, connKey{}, c)
	}

	connState := cfg.ConnState
	cfg.ConnState = func(c net.Conn, state http.ConnState) {
		if connState != nil {
			connState(c, state)
		}
		s.countServing(state)
	}
}

func (s *Server) countServing(state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.serving++
	case http.StateClosed, http.StateHijacked:
		s.serving--
		s.idle.Broadcast()
	}
}
