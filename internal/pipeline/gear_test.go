package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A handClock has the real time, and timers that go off by hand.
type handClock struct {
	clockwork.Clock
	mu     sync.Mutex
	timers []*handTimer
	late   bool // it is when timers are stopped
}

type handTimer struct {
	clockwork.Timer
	clock *handClock
	f     func()
	set   bool
}

func (c *handClock) AfterFunc(_ time.Duration, f func()) clockwork.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{clock: c, f: f, set: true}
	c.timers = append(c.timers, t)
	return t
}

func (t *handTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.set
	t.set = false
	return was && !t.clock.late
}

func (t *handTimer) Reset(time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.set
	t.set = true
	return was
}

// ring lets go off what is set, and reports how many that were.
func (c *handClock) ring() (n int) {
	c.mu.Lock()
	var due []func()
	for _, t := range c.timers {
		if t.set {
			t.set = false
			due = append(due, t.f)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
	return len(due)
}

// over is a pipeline whose own transport hands requests for test: to b, which can do with a trace whatever net/http
// does, at the time that it likes.
func over(t *testing.T, clock clockwork.Clock, b base) *Pipeline {
	t.Helper()
	own := &http.Transport{Protocols: new(http.Protocols)}
	own.Protocols.SetUnencryptedHTTP2(true) // so that nothing is known of a connection in cleartext
	own.RegisterProtocol("test", b)
	return New(Config{Base: own, Clock: clock, Pool: newPool(clock), Errors: texts{}, Attempt: time.Hour})
}

// call makes one, and reads the answer to its end.
func (p *Pipeline) call(ctx context.Context, url string) error {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	resp, err := p.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

const anywhere = "test://x.test"

// A conn is encrypted, and one of HTTP/2 or not.
type conn struct {
	net.Conn
	http2 bool
}

func (c conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: map[bool]string{true: "h2"}[c.http2]}
}

func (conn) Close() error { return nil }

// A gear serves another attempt when none of its functions will be called for this one any more, and only then.
func TestGearIsUsedAgainOnlyIfNothingOfItCanStillBeCalled(t *testing.T) {
	t.Parallel()
	trace := func(r *http.Request) *httptrace.ClientTrace { return httptrace.ContextClientTrace(r.Context()) }
	gone := errors.New("gone")
	for _, row := range []struct {
		name  string
		send  func(r *http.Request) error
		late  bool // the timer has gone off when it is stopped
		again bool
	}{
		{name: "nobody looked at the trace", send: func(*http.Request) error { return nil }, again: true},
		{name: "all was told", again: true, send: func(r *http.Request) error {
			trace(r).GetConn("x.test:80")
			trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{}})
			trace(r).WroteHeaders()
			return nil
		}},
		{name: "all was told of two sends", again: true, send: func(r *http.Request) error {
			for range 2 {
				trace(r).GetConn("x.test:80")
				trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{}, Reused: true})
				trace(r).WroteHeaders()
			}
			return nil
		}},
		{name: "all was told by HTTP/2", again: true, send: func(r *http.Request) error {
			trace(r).GetConn("x.test:80")
			trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{http2: true}, Reused: true})
			trace(r).WroteHeaders()
			return nil
		}},
		{name: "HTTP/2 in cleartext asks twice for what is there", again: true, send: func(r *http.Request) error {
			trace(r).GetConn("x.test:80")
			trace(r).GetConn("x.test:80")
			trace(r).GotConn(httptrace.GotConnInfo{Conn: &net.TCPConn{}, Reused: true})
			trace(r).WroteHeaders()
			return nil
		}},
		{name: "headers may still be written", send: func(r *http.Request) error {
			trace(r).GetConn("x.test:80")
			trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{}})
			return nil
		}},
		{name: "headers of the first send may still be written", send: func(r *http.Request) error {
			for range 2 {
				trace(r).GetConn("x.test:80")
				trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{}})
			}
			trace(r).WroteHeaders()
			return nil
		}},
		{name: "a dialler's own request waits for a connection", send: func(r *http.Request) error {
			trace(r).GetConn("x.test:80")
			trace(r).GetConn("proxy.test:80")
			trace(r).GotConn(httptrace.GotConnInfo{Conn: conn{}, Reused: true})
			trace(r).WroteHeaders()
			return nil
		}},
		{name: "the attempt failed", send: func(*http.Request) error { return gone }},
		{name: "the timer goes off", late: true, send: func(*http.Request) error { return nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			p := over(t, &handClock{Clock: clockwork.NewRealClock(), late: row.late}, func(r *http.Request) (*http.Response, error) {
				return respond(200, "x"), row.send(r)
			})
			is.Equal(usedAgain(t, p, anywhere), row.again)
		})
	}
}

// usedAgain reports whether there is a gear to take after a call. A pool may lose what it is given, so that it takes
// several to say yes.
func usedAgain(t *testing.T, p *Pipeline, url string) bool {
	for range 20 {
		_ = p.call(t.Context(), url)
		if p.gears.Get() != nil {
			return true
		}
	}
	return false
}

// What a bubble of testing/synctest has made belongs to it: a timer above all.
func TestGearDoesNotLeaveABubble(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p := over(t, clockwork.NewRealClock(), func(*http.Request) (*http.Response, error) { return respond(200, "x"), nil })
	is.True(usedAgain(t, p, anywhere)) // outside
	synctest.Test(t, func(t *testing.T) {
		is.Equal(usedAgain(t, p, anywhere), false) // inside
	})
}

// A transport of another kind may do with a trace what it likes, for as long as it likes.
func TestGearOfATransportOfAnotherKindIsUsedAgainIfItDoesNotTrace(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	clock := clockwork.NewRealClock()
	for _, traces := range []bool{false, true} {
		p := New(Config{
			Base: base(func(r *http.Request) (*http.Response, error) {
				if traces {
					httptrace.ContextClientTrace(r.Context())
				}
				return respond(200, "x"), nil
			}),
			Clock: clock, Pool: newPool(clock), Errors: texts{},
		})
		is.Equal(usedAgain(t, p, anywhere), !traces)
	}
}

// Hooks that are called late count for the attempt that they are of, and not for one that has come after.
func TestLateHooksCountForNobodyElse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var late []*httptrace.ClientTrace
	var hasty atomic.Bool
	p := over(t, clockwork.NewRealClock(), func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("x.test:80")
		trace.GotConn(httptrace.GotConnInfo{Conn: conn{}})
		if hasty.Load() { // the answer is there before it is told that the headers are out
			late = append(late, trace)
			return respond(200, "x"), nil
		}
		var calls sync.WaitGroup
		for _, trace := range late {
			calls.Go(func() {
				trace.WroteHeaders()
				trace.GotConn(httptrace.GotConnInfo{Conn: conn{}})
			})
		}
		trace.WroteHeaders()
		calls.Wait()
		return respond(200, "x"), nil
	})
	var sends []int
	p.Listen = func(context.Context, *State) func(Event) {
		return func(e Event) {
			if e.Kind == AttemptDone {
				sends = append(sends, e.Attempt.Sends)
			}
		}
	}
	for range 50 {
		hasty.Store(true)
		is.NoErr(p.call(t.Context(), anywhere))
		hasty.Store(false)
		is.NoErr(p.call(t.Context(), anywhere))
	}
	for i, n := range sends {
		is.Equal(n, i%2) // what was told by then
	}
}

// The end of an answer stops the timer of its own attempt, though another one has the gear by then.
func TestEndOfABodyLeavesTheTimerOfALaterAttemptAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	clock := &handClock{Clock: clockwork.NewRealClock()}
	var earlier *http.Response
	p := over(t, clock, func(r *http.Request) (*http.Response, error) {
		if earlier == nil {
			return respond(200, "x"), nil
		}
		_ = earlier.Body.Close()
		is.Equal(clock.ring(), 1) // the timer of this attempt is still set
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	pool := p.Pool.(*leasingPool)
	pool.Limit.Configure(2, 0)
	for range 20 { // until the pool has kept one
		earlier = nil
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "test://x.test", nil)
		resp, err := p.RoundTrip(r)
		is.NoErr(err)
		earlier = resp
		is.True(errors.Is(p.call(t.Context(), anywhere), reached(LimitAttempt))) // it has ended the attempt
	}
	is.True(len(clock.timers) < 40) // timers were used again
}

// Over real connections, under load, with callers who leave at any time: what each attempt is told by the transport is
// its own. That no hook is called for an attempt that has let go of its gear is what the race detector looks at here.
func TestGearsAreNotMixedUpUnderLoad(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*httptest.Server) *http.Transport{
		"HTTP1": func(s *httptest.Server) *http.Transport {
			s.Start()
			return &http.Transport{}
		},
		"HTTP2 over TLS": func(s *httptest.Server) *http.Transport {
			s.EnableHTTP2 = true
			s.StartTLS()
			return s.Client().Transport.(*http.Transport)
		},
		"HTTP2 in cleartext": func(s *httptest.Server) *http.Transport {
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			return &http.Transport{Protocols: s.Config.Protocols}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var handled, sends, replays atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				handled.Add(1)
				_, _ = io.WriteString(w, "x")
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			own := serve(s)
			defer s.Close()
			defer own.CloseIdleConnections()
			clock := clockwork.NewRealClock()
			pool := newPool(clock)
			pool.Limit.Configure(100, 0)
			p := New(Config{Base: own, Clock: clock, Pool: pool, Errors: texts{}, Attempt: time.Hour})
			p.Listen = func(context.Context, *State) func(Event) {
				return func(e Event) {
					switch e.Kind {
					case AttemptDone:
						sends.Add(int64(e.Attempt.Sends))
					case Replayed:
						replays.Add(1)
					}
				}
			}
			var callers sync.WaitGroup
			for c := range 8 {
				callers.Go(func() {
					for i := range 100 {
						ctx, leave := context.WithCancel(t.Context())
						if (i+c)%3 == 0 {
							go leave()
						}
						_ = p.call(ctx, s.URL)
						leave()
					}
				})
			}
			callers.Wait()
			is.Equal(replays.Load(), int64(0))      // no attempt was told of another's connection
			is.True(handled.Load() <= sends.Load()) // and none of those that were sent was lost
			is.Equal(pool.Leases.Load(), int64(0))  // all have ended
			is.True(usedAgain(t, p, s.URL))         // when there is peace, one is left for the next
			is.True(handled.Load() > 0)             // it was under load
		})
	}
}
