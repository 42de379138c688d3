package resilient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

// A world is what a client test lives in: a server, a registry of its own, and
// everything that was observed. When the test ends nothing may be left of any call.
type world struct {
	*testing.T
	*httptestx.Server
	registry *resilient.Registry
	virtual  bool // time is
	remains

	mu     sync.Mutex
	events []resilient.Event
}

// bubble runs a test with a server in memory and in virtual time. A goroutine
// that is left over makes the bubble itself fail.
func bubble(t *testing.T, h http.Handler, test func(w *world)) {
	t.Helper()
	h1.bubble(t, h, test)
}

// bothVersions runs a test over HTTP/1 and over HTTP/2 with TLS, as they are met.
func bothVersions(t *testing.T, test func(t *testing.T, p protocol)) {
	t.Helper()
	for _, p := range []protocol{h1, h2TLS} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// loopback is a world with a server on real sockets and in real time.
func loopback(t *testing.T, h http.Handler) *world {
	t.Helper()
	w := newWorld(t, h)
	w.Start()
	return w
}

// newWorld is a world in real time, with a server in memory.
func newWorld(t *testing.T, h http.Handler, options ...httptestx.Option) *world {
	t.Helper()
	noGoroutinesLeft(t)
	return newWorldIn(t, false, h, options...)
}

func newWorldIn(t *testing.T, virtual bool, h http.Handler, options ...httptestx.Option) *world {
	t.Helper()
	w := &world{T: t, registry: resilient.NewRegistry(), virtual: virtual}
	w.clock = newTimekeeper()
	w.Server = httptestx.NewServer(t, h, options...)
	w.tap(w.Client().Transport.(*http.Transport))
	t.Cleanup(w.nothingLeft) // before the server ends what hangs
	return w
}

// client builds b for the world's server.
func (w *world) client(b resilient.Builder) *http.Client {
	w.Helper()
	return w.over(w.Client().Transport, b)
}

// transport is one of the test's own, which connects to the world's server.
func (w *world) transport() *http.Transport {
	like := w.Client().Transport.(*http.Transport) // not its clone, which would share what HTTP/2 is set to
	return &http.Transport{DialContext: w.DialContext, TLSClientConfig: like.TLSClientConfig, Protocols: like.Protocols}
}

// over builds b around a base transport of the test's own.
func (w *world) over(base http.RoundTripper, b resilient.Builder) *http.Client {
	w.Helper()
	c, err := w.timed(b).Transport(w.watch(base)).Registry(w.registry).Observe(w.observe).Build()
	if err != nil {
		w.Fatal(err)
	}
	c.Transport = &entrance{c.Transport, &w.remains}
	return c
}

func (w *world) observe(_ context.Context, e resilient.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// eventsOf returns the events of one kind that were observed so far.
func eventsOf[E resilient.Event](w *world) []E {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []E
	for _, e := range w.events {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// denials are the reasons for which retries were denied so far.
func (w *world) denials() []string {
	var reasons []string
	for _, e := range eventsOf[resilient.RetryDenied](w) {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

// arrived is how many requests the server has seen.
func (w *world) arrived() int { return len(w.Exchanges()) }

// handled is for how many the handler ran.
func (w *world) handled() int {
	n := 0
	for _, e := range w.Exchanges() {
		if e.Handled {
			n++
		}
	}
	return n
}

// A roundTripper is a function as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A trackedBody is a request or response body that counts its closes.
type trackedBody struct {
	io.Reader
	mu     sync.Mutex
	closes int
}

func track(s string) *trackedBody { return &trackedBody{Reader: strings.NewReader(s)} }

func (b *trackedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	return nil
}

func (b *trackedBody) closed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closes
}

// always is a handler that always answers the same.
func always(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	})
}

// read reads and closes a response's body.
func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("reading the body: %v", err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Errorf("closing the body: %v", err)
	}
	return string(b)
}

// noGoroutinesLeft fails the test if a goroutine that it starts from here on,
// directly or not, outlives it: goroutines inherit the label of the one that
// starts them. One that is on its way out gets its chance, by yielding to it.
func noGoroutinesLeft(t *testing.T) {
	world := fmt.Sprintf("%s#%d", t.Name(), worlds.Add(1))
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("world", world)))
	t.Cleanup(func() {
		var left string
		for range 500 {
			if left = labelled(world); left == "" {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("goroutines are left:\n%s", left)
	})
}

var worlds atomic.Int64

// labelled returns the stacks of the goroutines of a world but the test's own.
func labelled(world string) string {
	var profile strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	var stacks []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, strconv.Quote(world)) && !strings.Contains(stack, "testing.tRunner") {
			stacks = append(stacks, stack)
		}
	}
	return strings.Join(stacks, "\n\n")
}
