package resilient_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

// backoffFunc is a function as a backoff.
type backoffFunc func() time.Duration

func (f backoffFunc) NextBackOff() time.Duration { return f() }
func (f backoffFunc) Reset()                     {}

// Whatever panics, everything is given back, and the panic goes on.
func TestPanicGivesEverythingBackAndGoesOn(t *testing.T) {
	t.Parallel()
	type place func(b resilient.Builder, boom func()) resilient.Builder
	places := map[string]place{
		"the transport": nil, // see the base
		"GetBody":       nil, // see the request
		"RetryIf": func(b resilient.Builder, boom func()) resilient.Builder {
			return b.Retry(resilient.RetryIf(func(resilient.Attempt) bool { boom(); return true }))
		},
		"BackoffFunc": func(b resilient.Builder, boom func()) resilient.Builder {
			return b.Retry(resilient.BackoffFunc(func() backoff.BackOff { boom(); return &backoff.ZeroBackOff{} }))
		},
		"NextBackOff": func(b resilient.Builder, boom func()) resilient.Builder {
			return b.Retry(resilient.BackoffFunc(func() backoff.BackOff {
				return backoffFunc(func() time.Duration { boom(); return 0 })
			}))
		},
		"BreakDurationFunc": func(b resilient.Builder, boom func()) resilient.Builder {
			return b.Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration { boom(); return 0 }))
		},
		"the observer": func(b resilient.Builder, boom func()) resilient.Builder {
			return b.Observe(func(context.Context, resilient.Event) { boom() })
		},
	}
	for fault, boom := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		for name, place := range places {
			t.Run(fault+" in "+name, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				w := newWorld(t, nil)
				var armed sync.Once
				once := func() { armed.Do(boom) }
				var mu sync.Mutex
				var contexts []context.Context
				var answers []*trackedBody
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					contexts = append(contexts, r.Context())
					mu.Unlock()
					if name == "the transport" {
						once()
					}
					r.Body.Close()
					answer := track("sorry")
					mu.Lock()
					answers = append(answers, answer)
					mu.Unlock()
					return &http.Response{StatusCode: 503, Body: answer}, nil
				})
				b := brittle().Breaker(resilient.FailureRatio(0)).Concurrency(resilient.Permits(1)).
					Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0)).Timeout(resilient.Total(time.Hour))
				if place != nil {
					b = place(b, once)
				}
				c := w.over(base, b)
				body := track("order")
				r, _ := http.NewRequest("PUT", "http://x.test", body)
				if name == "GetBody" {
					r.GetBody = func() (io.ReadCloser, error) { once(); return http.NoBody, nil }
				}
				panicked := aside(func() {
					resp, err := c.Do(r)
					is.NoErr(err)
					resp.Body.Close()
					t.Error("it has not panicked")
				})
				if fault == "panic" {
					is.Equal(panicked, "boom") // it goes on, as it was
				}
				is.Equal(body.closed(), 1) // the caller's body, once
				for _, ctx := range contexts {
					is.True(ctx.Err() != nil) // no attempt is left running
				}
				for _, answer := range answers {
					is.Equal(answer.closed(), 1) // and no response open
				}
				inUse, _ := w.occupancy()
				is.Equal(inUse, 0) // nor a permit taken
			})
		}
	}
}

// A response's body belongs to the transport: it may panic, too.
func TestPanickingResponseBodyGivesThePermitBack(t *testing.T) {
	t.Parallel()
	for fault, boom := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			c := w.over(roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: &fragileBody{strings.NewReader("x"), boom}}, nil
			}), narrow(0))
			resp, err := c.Get("http://x.test")
			is.NoErr(err)
			panicked := aside(func() { resp.Body.Close() })
			if fault == "panic" {
				is.Equal(panicked, "boom")
			}
			inUse, _ := w.occupancy()
			is.Equal(inUse, 0)
		})
	}
}

// A fragileBody does not survive its Close.
type fragileBody struct {
	io.Reader
	boom func()
}

func (b *fragileBody) Close() error { b.boom(); return nil }

// A panic of a second dispatch is not the failure that the first one was.
func TestPanicAfterARedispatchIsNoFailure(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("PUT /").Do(httptestx.ResetBeforeRead...)
		dispatches := 0
		c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			if dispatches++; dispatches == 3 {
				panic("boom")
			}
			return w.Client().Transport.RoundTrip(r)
		}), counted())
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		r, _ := http.NewRequest("PUT", w.URL, strings.NewReader(strings.Repeat("x", 8<<20)))
		is.Equal(aside(func() { _, _ = c.Do(r) }), "boom")
		is.Equal(len(eventsOf[resilient.Redispatched](w)), 1) // the second dispatch of the second call
		requests, _ := w.tally()
		is.Equal(requests, uint64(1)) // only the first call counts
	})
}
