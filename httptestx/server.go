package httptestx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// The URLs of a server in memory. Names below .test never resolve (RFC
// 6761), so a client that is not connected to the server fails at once.
const (
	memURL    = "http://httptestx.test"
	memTLSURL = "https://httptestx.test"
)

// TB is what a server needs of a test: [testing.TB] has it, and a program can.
type TB interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
}

// Server is an HTTP server that misbehaves on demand. It is safe for
// concurrent use.
type Server struct {
	// URL is the base URL, without a trailing slash. [Server.Start] changes it.
	URL string

	// Config is the underlying server. It may be changed until Start or the first
	// connection, whichever is first. A nil Handler is [http.DefaultServeMux],
	// as in net/http.
	Config *http.Server

	// TLS may be set until Start or the first connection, as Config may. Without
	// certificates in it the server has one for each name that a client asks for.
	TLS *tls.Config

	t        TB
	settings settings
	clock    *stopwatch    // what Between counts from
	seed     atomic.Uint64 // changed by LoadRules
	journal  *journal
	client   *http.Client
	roots    *x509.CertPool // that the client trusts
	memory   *memListener   // used unless Start is called

	life    context.Context // ends when Close is called
	endLife context.CancelFunc

	// mu guards what follows. It is never held while user code runs.
	mu        sync.Mutex
	idle      sync.Cond     // running or serving went down
	listener  net.Listener  // nil before the start
	handler   http.Handler  // set at the start, constant then
	tls       *tls.Config   // same; nil in cleartext
	http2     bool          // same
	served    chan struct{} // closed when the accept loop has ended
	closed    bool
	conns     map[*conn]bool // all that were accepted, hijacked ones included
	accepted  int            // connections so far
	running   int            // requests in serve
	serving   int            // connections that net/http serves
	rules     []*activeRule  // appended to, or replaced by another slice
	connRules []*activeRule  // same
	begun     []*beginning   // calls of On and OnConn
}

// NewServer returns a server for h, in memory until [Server.Start] is called.
//
// When the test ends the server is closed, and what went wrong is
// reported to t: a handler that panicked (other than with [http.ErrAbortHandler]),
// a rule that was begun and never given a plan, and with [Strict] rules
// that were not used up.
func NewServer(t TB, h http.Handler, opts ...Option) *Server {
	t.Helper()
	s := &Server{
		URL:      memURL,
		Config:   &http.Server{Handler: h},
		t:        t,
		settings: defaults(t),
		clock:    newStopwatch(),
		journal:  newJournal(),
		memory:   newMemListener(),
		conns:    make(map[*conn]bool),
	}
	for _, opt := range opts {
		opt(&s.settings)
	}
	s.idle.L = &s.mu
	s.seed.Store(s.settings.seed)
	s.journal.most = s.settings.keep
	s.life, s.endLife = context.WithCancel(context.Background())
	s.client = s.newClient()
	if s.settings.tls {
		s.URL, s.memory.port = memTLSURL, 443
	}
	t.Cleanup(func() {
		s.Close()
		s.report()
		s.logUnclosed()
	})
	return s
}

// Client returns a client for the server, the same at each call. Its
// Transport is an [*http.Transport] of its own that connects to the server for
// every address; its idle connections are closed with the server.
func (s *Server) Client() *http.Client { return s.client }

// DialContext connects to the server, whatever network and addr say. It is for
// an [http.Transport] of the user's own. After Close the connection is refused.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	var err error
	if s.listener == nil && !s.closed {
		err = s.serveOn(s.memory)
	}
	ln := s.listener
	s.mu.Unlock()
	if err != nil {
		s.t.Errorf("httptestx: %v", err)
		return nil, err
	}
	if ln == nil || ln == s.memory {
		return s.dialMemory(ctx, addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, ln.Addr().Network(), ln.Addr().String())
}

// Connections returns how many connections the server has accepted so far. That they were fewer than
// requests says that the client has used them again, for which it must read each answer to its end, and close it.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
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
	if s.settings.strict {
		defer s.reportUnmet() // when the lock is free
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.begun {
		if !b.used {
			s.t.Errorf("httptestx: %s has no plan: end it with Do, Script or Func", b.words)
		}
	}
}
