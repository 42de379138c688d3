package resilient_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	inner "github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/jonboulle/clockwork"
)

// remains is what the clients of a world may leave behind. What the bases and the
// callers see is looked at, and nothing of it is changed: the library must not be
// able to tell.
type remains struct {
	clock *timekeeper // of the clients that have none of their own

	mu       sync.Mutex
	sent     []interface{ closed() int } // request bodies of callers that can tell
	answers  []*answered                 // response bodies of bases that are functions
	attempts []context.Context
	open     map[*openConn]bool
	tapped   map[*http.Transport]bool
}

// nothingLeft fails the test if anything is left of any call.
func (w *world) nothingLeft() {
	if w.Failed() { // half way, so there is
		return
	}
	for _, thing := range w.left() {
		w.Error("after the test is left: " + thing)
	}
}

// left names what is left. What belongs to the transport may be on its way out;
// everything else must be gone by the time that the caller knows that the call is over.
func (w *world) left() []string {
	all := append(w.held(), w.running()...)
	for start := time.Now(); len(w.passing()) > 0 && time.Since(start) < 10*time.Second; {
		if w.virtual { // waiting once is waiting for all
			synctest.Wait()
			break
		}
		runtime.Gosched()
	}
	return append(all, w.passing()...)
}

// held names the permits and places that calls still have.
func (w *world) held() (all []string) {
	for _, s := range w.registry.Snapshot() {
		if c := s.Concurrency; c != nil && (c.InUse != 0 || c.Queued != 0) {
			all = append(all, fmt.Sprintf("client %q %s: %d permits and %d queued calls", s.Client, s.Authority, c.InUse, c.Queued))
		}
	}
	return all
}

// running names the timers and contexts that have not ended, and the responses
// that were not closed once.
func (r *remains) running() (all []string) {
	if _, n := r.clock.left(); n > 0 {
		all = append(all, fmt.Sprintf("%d timers", n))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.answers {
		if n := a.closed(); n != 1 {
			all = append(all, fmt.Sprintf("a response body that was closed %d times, want once", n))
		}
	}
	for _, ctx := range r.attempts {
		if ctx.Err() == nil {
			all = append(all, "an attempt whose context has not ended")
		}
	}
	return all
}

// passing closes the idle connections and counts the others: those on which a
// response was neither read to its end nor closed, or a request is still under way. And
// it names the request bodies that were not closed once.
func (r *remains) passing() (all []string) {
	r.mu.Lock()
	bases := slices.Collect(maps.Keys(r.tapped))
	r.mu.Unlock()
	for _, tr := range bases {
		tr.CloseIdleConnections()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.open); n > 0 {
		all = append(all, fmt.Sprintf("%d connections that are in use", n))
	}
	for _, b := range r.sent {
		if n := b.closed(); n != 1 {
			all = append(all, fmt.Sprintf("a request body that was closed %d times, want once", n))
		}
	}
	return all
}

// timed gives b the world's clock, unless it has one of its own. It can't be asked,
// but clients of one name must have one clock.
func (w *world) timed(b resilient.Builder) resilient.Builder {
	b = b.Registry(resilient.NewRegistry())
	_, err := b.Build()
	_, other := b.Clock(clockwork.NewRealClock()).Build()
	if err != nil || other != nil {
		return b
	}
	return b.Clock(w.clock)
}

// watch returns what shows what goes through base. A transport of net/http stays
// what it is.
func (r *remains) watch(base http.RoundTripper) http.RoundTripper {
	switch base := base.(type) {
	case *http.Transport:
		r.tap(base)
	case roundTripper:
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			r.attempt(req)
			resp, err := base(req)
			if resp != nil {
				resp.Body = r.answer(resp.Body)
			}
			return resp, err
		})
	}
	return base
}

// tap makes a transport tell of its connections, and of every request that it sends:
// there is no other hook that it calls for each.
func (r *remains) tap(tr *http.Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tapped[tr] {
		return
	}
	if r.tapped == nil {
		r.tapped, r.open = map[*http.Transport]bool{}, map[*openConn]bool{}
	}
	r.tapped[tr] = true
	dial, proxy := tr.DialContext, tr.Proxy
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return r.opened(conn), nil
	}
	tr.Proxy = func(req *http.Request) (*url.URL, error) {
		r.attempt(req)
		if proxy == nil {
			return nil, nil
		}
		return proxy(req)
	}
}

// attempt notes a request of the library's; callers also use bases directly.
func (r *remains) attempt(req *http.Request) {
	if !inner.Nested(req.Context()) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = append(r.attempts, req.Context())
}

// An openConn is a connection, of which the end is noted.
type openConn struct {
	net.Conn
	remains *remains
}

func (r *remains) opened(conn net.Conn) net.Conn {
	c := &openConn{conn, r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[c] = true
	return c
}

func (c *openConn) Close() error {
	c.remains.mu.Lock()
	delete(c.remains.open, c)
	c.remains.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite is what an upgraded connection needs.
func (c *openConn) CloseWrite() error { return c.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// An answered is a response body that counts its closes.
type answered struct {
	io.ReadCloser
	mu sync.Mutex
	n  int
}

// answer leaves alone what need not be closed, and what is more than a body.
func (r *remains) answer(body io.ReadCloser) io.ReadCloser {
	_, writes := body.(io.Writer)
	if body == nil || body == http.NoBody || writes {
		return body
	}
	a := &answered{ReadCloser: body}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
	return a
}

func (a *answered) Close() error {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
	return a.ReadCloser.Close()
}

func (a *answered) closed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// An entrance is where callers hand their requests over. All that it does is to look
// at them.
type entrance struct {
	http.RoundTripper
	remains *remains
}

func (e *entrance) RoundTrip(req *http.Request) (*http.Response, error) {
	if b, ok := req.Body.(interface{ closed() int }); ok {
		e.remains.mu.Lock()
		e.remains.sent = append(e.remains.sent, b)
		e.remains.mu.Unlock()
	}
	return e.RoundTripper.RoundTrip(req)
}

func (e *entrance) CloseIdleConnections() {
	e.RoundTripper.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

func (e *entrance) CancelRequest(req *http.Request) { e.RoundTripper.(canceller).CancelRequest(req) }

func (e *entrance) Unwrap() http.RoundTripper {
	return e.RoundTripper.(interface{ Unwrap() http.RoundTripper }).Unwrap()
}
