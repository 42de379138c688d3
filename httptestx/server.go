package httptestx

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// memURL is the URL of a server in memory. Names below .test never resolve (RFC
// 6761), so a client that is not connected to the server fails at once.
const memURL = "http://httptestx.test"

// Server is an HTTP/1.1 server that misbehaves on demand. It is safe for
// concurrent use.
type Server struct {
	// URL is the base URL, without a trailing slash. [Server.Start] changes it.
	URL string

	// Config is the underlying server. It may be changed until Start or the first
	// connection, whichever is first. A nil Handler is [http.DefaultServeMux],
	// as in net/http.
	Config *http.Server

	t        testing.TB
	settings settings
	began    time.Time // what Between counts from
	journal  *journal
	client   *http.Client
	memory   *memListener // used unless Start is called

	life    context.Context // ends when Close is called
	endLife context.CancelFunc

	// mu guards what follows. It is never held while user code runs.
	mu       sync.Mutex
	idle     sync.Cond     // running or serving went down
	listener net.Listener  // nil before the start
	handler  http.Handler  // set at the start, constant then
	served   chan struct{} // closed when the accept loop has ended
	closed   bool
	conns    map[*conn]bool // all that were accepted, hijacked ones included
	accepted int            // connections so far
	running  int            // requests in serve
	serving  int            // connections that net/http serves
	rules    []*activeRule  // only ever appended to
	begun    []*beginning   // calls of On
}

// NewServer returns a server for h, in memory until [Server.Start] is called.
//
// When the test ends the server is closed, and what went wrong is
// reported to t: a handler that panicked (other than with [http.ErrAbortHandler]),
// a rule that was begun and never given a plan, and with [Strict] rules
// that were not used up.
func NewServer(t testing.TB, h http.Handler, opts ...Option) *Server {
	t.Helper()
	s := &Server{
		URL:      memURL,
		Config:   &http.Server{Handler: h},
		t:        t,
		settings: defaults(t),
		began:    time.Now(),
		journal:  newJournal(),
		memory:   newMemListener(),
		conns:    make(map[*conn]bool),
	}
	for _, opt := range opts {
		opt(&s.settings)
	}
	s.idle.L = &s.mu
	s.life, s.endLife = context.WithCancel(context.Background())
	s.client = &http.Client{Transport: &http.Transport{DialContext: s.DialContext}}
	t.Cleanup(func() {
		s.Close()
		s.report()
	})
	return s
}

// Start listens on a port of the loopback interface that the system chooses,
// instead of in memory, and sets URL. It must come before the first connection.
func (s *Server) Start() {
	s.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		ln, err = net.Listen("tcp6", "[::1]:0")
	}
	if err != nil {
		s.t.Fatalf("httptestx: Start: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil || s.closed {
		ln.Close()
		s.t.Fatalf("httptestx: Start must come before the first connection, and once")
	}
	s.URL = "http://" + ln.Addr().String()
	s.serveOn(ln)
}

// serveOn starts the accept loop. The caller holds mu.
func (s *Server) serveOn(ln net.Listener) {
	s.listener = ln
	s.hook()
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		s.Config.Serve(listener{ln, s})
	}()
}

// Client returns a client for the server, the same at each call. Its
// Transport is an [*http.Transport] of its own that connects to the server for
// every address; its idle connections are closed with the server.
func (s *Server) Client() *http.Client { return s.client }

// DialContext connects to the server, whatever network and addr say. It is for
// an [http.Transport] of the user's own. After Close the connection is refused.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	if s.listener == nil && !s.closed {
		s.serveOn(s.memory)
	}
	ln := s.listener
	s.mu.Unlock()
	if ln == nil || ln == s.memory {
		return s.memory.dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, ln.Addr().Network(), ln.Addr().String())
}

// Exchanges returns what happened so far, in order of arrival.
func (s *Server) Exchanges() []Exchange { return s.journal.snapshot() }

// Wait returns the exchanges when n of them have ended; others may be running.
// It fails the test if the server is closed before.
func (s *Server) Wait(n int) []Exchange {
	s.t.Helper()
	list, ok := s.journal.wait(n)
	if !ok {
		s.t.Errorf("httptestx: Wait(%d): the server was closed\n%s", n, s.timeline(list))
	}
	return list
}

// report tells the test about rules that were not used as they should.
func (s *Server) report() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.begun {
		if !b.used {
			s.t.Errorf("httptestx: %s has no plan: end it with Do, Script or Func", b.words)
		}
	}
	if !s.settings.strict {
		return
	}
	for _, r := range s.rules {
		if unmet := r.unmet(); unmet != "" {
			s.t.Errorf("httptestx: %s (Strict)", unmet)
		}
	}
}
