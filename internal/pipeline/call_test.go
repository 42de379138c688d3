package pipeline

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/cenkalti/backoff/v5"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A base is a function as a transport.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

// A leasingPool has one state, and counts who has it.
type leasingPool struct{ State }

func (p *leasingPool) Acquire(*http.Request) *State { p.Leases.Add(1); return &p.State }
func (p *leasingPool) Release(*State)               { p.Leases.Add(-1) }

// newPool has a limit of one call and a breaker that two failures open.
func newPool(clock clockwork.Clock) *leasingPool {
	return &leasingPool{State{
		Clock: clock, Epoch: clock.Now(),
		Limit: gate.NewLimit(1, 0),
		Lane: Lane{Breaker: gate.NewBreaker(gate.BreakerConfig{
			FailureRatioPPM: 1_000_000, Minimum: 2, Sampling: time.Minute, Break: time.Minute, ProbeTimeout: time.Minute,
		})},
	}}
}

func TestStateIsReleasedOnceHoweverTheCallEnds(t *testing.T) {
	for name, send := range map[string]base{
		"body":    func(*http.Request) (*http.Response, error) { return respond(200, "x"), nil },
		"no body": func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil },
		"retries": func(*http.Request) (*http.Response, error) { return respond(503, "x"), nil },
		"error":   func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"both":    func(*http.Request) (*http.Response, error) { return respond(200, "x"), io.ErrUnexpectedEOF },
		"neither": func(*http.Request) (*http.Response, error) { return nil, nil },
		"panic":   func(*http.Request) (*http.Response, error) { panic("base") },
		"Goexit":  func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			clock := clockwork.NewFakeClock()
			pool := newPool(clock)
			p := New(Config{
				Base: send, Clock: clock, Pool: pool, Errors: texts{}, Concurrency: true, Breaker: BreakerConfig{On: true},
				Retry: RetryConfig{Max: 1, Backoff: func() backoff.BackOff { return &backoff.ZeroBackOff{} }},
			})
			for range 5 { // the later ones may be refused by the breaker
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					r, _ := http.NewRequest("GET", "http://x.test", nil)
					resp, err := p.RoundTrip(r)
					if err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
						resp.Body.Close()
					}
				}()
				<-done
				is.Equal(pool.Leases.Load(), int64(0)) // the state
				inUse, _ := pool.Limit.Stats()
				is.Equal(inUse, 0) // and its permit
			}
		})
	}
}

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}
}

func TestStateIsHeldAsLongAsTheBody(t *testing.T) {
	is := is.New(t)
	clock := clockwork.NewFakeClock()
	pool := newPool(clock)
	p := New(Config{
		Base:  base(func(*http.Request) (*http.Response, error) { return respond(200, "x"), nil }),
		Clock: clock, Pool: pool, Errors: texts{}, Concurrency: true,
	})
	r, _ := http.NewRequest("GET", "http://x.test", nil)
	resp, err := p.RoundTrip(r)
	is.NoErr(err)
	is.Equal(pool.Leases.Load(), int64(1)) // so that it is not evicted
	_, err = p.RoundTrip(r)
	is.Equal(err.Error(), "concurrency_limit")
	is.Equal(pool.Leases.Load(), int64(1)) // the refused one is gone
	resp.Body.Close()
	is.Equal(pool.Leases.Load(), int64(0))
}

// Whoever has left gets the error as it is, or with what there is to add.
func TestInterruptedAddsOnlyWhatIsNew(t *testing.T) {
	reason, last := errors.New("reason"), errors.New("last")
	for _, row := range []struct {
		name  string
		leave func(context.Context) context.Context
		last  error
		want  string
		as    bool // the very error of the context
	}{
		{"cancelled", cancelled(nil), nil, "context canceled", true},
		{"cancelled for a reason", cancelled(reason), nil, "context canceled\nreason", false},
		{"cancelled in a wait", cancelled(nil), last, "context canceled\ncontext canceled\nlast", false},
		{"by Request.Cancel", func(ctx context.Context) context.Context { return ctx }, nil, "context canceled", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			is := is.New(t)
			k := newCall(t, Config{Errors: texts{}})
			k.req = k.req.WithContext(row.leave(k.ctx()))
			err := k.interrupted(row.last)
			is.Equal(err.Error(), row.want)
			is.Equal(err == context.Canceled, row.as) //nolint:errorlint // net/http compares so, too
		})
	}
}

func cancelled(cause error) func(context.Context) context.Context {
	return func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		return ctx
	}
}

// What listens looks into the caller's context, whose values are his own code.
func TestPanicWhileACallBeginsGivesEverythingBack(t *testing.T) {
	is := is.New(t)
	pool := newPool(clockwork.NewFakeClock())
	body := &countedBody{Reader: strings.NewReader("an order")}
	p := New(Config{
		Base: nil, Clock: pool.Clock, Pool: pool, Errors: texts{},
		Listen: func(context.Context, *State) func(Event) { panic("a value of a context") },
	})
	reason := func() (reason any) {
		defer func() { reason = recover() }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.test", body)
		is.NoErr(err)
		_, _ = p.RoundTrip(req)
		return nil
	}()
	is.Equal(reason, "a value of a context") // it goes on
	is.Equal(pool.Leases.Load(), int64(0))   // the state is free
	is.Equal(body.closes.Load(), int32(1))   // the caller's body is closed
}
