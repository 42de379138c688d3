package resilient_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// Two layers that repeat would multiply: the inner one leaves it to the outer.
func TestNestedClientsDoNotMultiplyRetries(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		d := &dependency{}
		d.answer(503)
		p.bubble(t, d, func(w *world) {
			is := is.New(w.T)
			again := func(name string) resilient.Builder {
				return resilient.New(name).Defaults(resilient.None).Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0))
			}
			inner := w.client(again("inner"))
			outer := w.over(inner.Transport, again("outer"))
			status, err := w.post(outer)
			is.NoErr(err)
			is.Equal(status, 503)
			is.Equal(d.hits.Load(), int32(3)) // and not nine
			status, err = w.post(inner)
			is.NoErr(err)
			is.Equal(status, 503)
			is.Equal(d.hits.Load(), int32(6)) // by itself it repeats
		})
	})
}

// Calls of all kinds, with somebody who looks on and somebody who isolates: at
// the end nothing is held and the client works. For the race detector.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var n atomic.Int64
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			defer r.Body.Close()
		}
		switch n.Add(1) % 9 {
		case 0:
			return nil, io.ErrUnexpectedEOF
		case 1:
			return &http.Response{StatusCode: 503, Body: track("sorry")}, nil
		case 2:
			return nil, nil
		case 3:
			panic("boom")
		case 4:
			return &http.Response{StatusCode: 200}, nil
		default:
			return hello(r)
		}
	})
	w := newWorld(t, nil)
	c := w.over(base, resilient.New("orders").PerAuthority().
		Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0)).
		Budget(resilient.RetryRatio(0.5), resilient.MinimumThroughput(10)).
		Concurrency(resilient.Permits(3), resilient.Queue(3)).
		Breaker(resilient.FailureRatio(0.4), resilient.MinimumThroughput(5),
			resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return 0 })).
		Observe(func(context.Context, resilient.Event) { _ = w.registry.Snapshot() }))
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for j := range 150 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%5 == 0 {
					go cancel()
				}
				aside(func() {
					r, _ := http.NewRequestWithContext(ctx, "PUT", "http://"+string(rune('a'+j%3))+".test", strings.NewReader("order"))
					resp, err := c.Do(r)
					if err != nil {
						return
					}
					if j%2 == 0 {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
				})
				cancel()
			}
		})
	}
	callers.Go(func() {
		for range 100 {
			is.NoErr(w.registry.Isolate("orders"))
			is.NoErr(w.registry.Release("orders"))
		}
	})
	callers.Wait()
	is.NoErr(w.registry.Isolate("orders"))
	is.NoErr(w.registry.Release("orders"))
	for _, s := range w.registry.Snapshot() {
		is.Equal(s.Concurrency.InUse, 0)
		is.Equal(s.Concurrency.Queued, 0)
		is.Equal(s.Breaker.State, "closed")
	}
	n.Store(4)
	resp, err := c.Get("http://a.test")
	is.NoErr(err)
	resp.Body.Close()
	all := eventsOf[resilient.BreakerChanged](w)
	states := []string{"closed", "open", "half-open", "isolated"}
	for _, e := range all {
		is.True(slices.Contains(states, e.From) && slices.Contains(states, e.To) && e.From != e.To)
		is.True(e.Failures <= e.Requests)
	}
}
