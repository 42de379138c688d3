package resilient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

var errShutdown = errors.New("the program shuts down")

// A leaving is how a caller leaves two seconds after it called.
type leaving struct {
	request func(*http.Request) (*http.Request, func()) // func ends what the test has begun
	is      error                                       // what the error is then
	cause   error                                       // and the cause
	timeout bool
}

func departures() map[string]leaving {
	after := func(r *http.Request, ctx context.Context, f func()) (*http.Request, func()) {
		timer := time.AfterFunc(2*time.Second, f)
		return r.WithContext(ctx), func() { timer.Stop() }
	}
	return map[string]leaving{
		"cancel": {is: context.Canceled, request: func(r *http.Request) (*http.Request, func()) {
			ctx, cancel := context.WithCancel(r.Context())
			return after(r, ctx, cancel)
		}},
		"cancel with cause": {is: context.Canceled, cause: errShutdown, request: func(r *http.Request) (*http.Request, func()) {
			ctx, cancel := context.WithCancelCause(r.Context())
			return after(r, ctx, func() { cancel(errShutdown) })
		}},
		"Request.Cancel": {is: context.Canceled, request: func(r *http.Request) (*http.Request, func()) {
			cancel := make(chan struct{})
			r.Cancel = cancel //nolint:staticcheck // deprecated, but net/http still honours it
			return after(r, r.Context(), func() { close(cancel) })
		}},
		"deadline": {is: context.DeadlineExceeded, timeout: true, request: func(r *http.Request) (*http.Request, func()) {
			ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
			return r.WithContext(ctx), cancel
		}},
		"deadline with cause": {is: context.DeadlineExceeded, cause: errShutdown, timeout: true, request: func(r *http.Request) (*http.Request, func()) {
			ctx, cancel := context.WithTimeoutCause(r.Context(), 2*time.Second, errShutdown)
			return r.WithContext(ctx), cancel
		}},
	}
}

// The response's body stands still, so that reading it takes 100 ms and
// the wait, which would have fitted, ends too late for the deadline.
func TestCallerWhoLeavesDuringTheWaitIsToldWhatWasWaitedFor(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		stalled := httptestx.Plan(httptestx.Status(503), httptestx.Send(3), httptestx.Hang)
		for name, l := range departures() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(stalled...)
					body := track("order")
					r, _ := http.NewRequest("PUT", w.URL, nil)
					r.Body, r.ContentLength = body, 5
					r, done := l.request(r)
					defer done()
					start := time.Now()
					_, err := w.client(retrying(every(1950*time.Millisecond)).
						Budget(resilient.MinimumThroughput(1), resilient.RetryRatio(1))).Do(r)
					is.Equal(time.Since(start), 2*time.Second) // at once when it leaves
					assertLeft(w.T, err, l)
					is.True(strings.Contains(err.Error(), "503 Service Unavailable"))    // the last outcome is in the text
					is.Equal(w.arrived(), 1)                                             // nothing more is sent
					is.Equal(body.closed(), 1)                                           // the body is closed
					is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(1))         // what was charged stays charged
					is.Equal(w.denials(), []string(nil))                                 // no retry was denied
					is.Equal(eventsOf[resilient.CallDone](w)[0].Err, errors.Unwrap(err)) // the observer sees the same
				})
			})
		}
	})
}

// assertLeft checks that the error is the caller's own.
func assertLeft(t *testing.T, err error, l leaving) {
	t.Helper()
	is := is.New(t)
	var outer *url.Error
	is.True(errors.As(err, &outer))                                 // net/http's wrapping
	is.Equal(outer.Timeout(), l.timeout)                            // a timeout exactly if the caller's time was up
	is.True(errors.Is(err, l.is))                                   // it is the context's error
	is.True(l.cause == nil || errors.Is(err, l.cause))              // and its cause
	is.True(!errors.Is(err, resilient.ErrTotalTimeout))             // none of ours
	is.True(!errors.Is(err, resilient.ErrAttemptTimeout))           // neither
	is.True(l.timeout || !errors.Is(err, context.DeadlineExceeded)) // who cancels sees no deadline
	is.True(!l.timeout || !errors.Is(err, context.Canceled))        // who has a deadline sees no cancel
}

func TestCallerWhoLeavesAfterALostConnectionFindsItInTheError(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		lost := &fault{"connection lost"}
		base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, lost })
		ctx, cancel := context.WithCancelCause(w.Context())
		time.AfterFunc(time.Second, func() { cancel(errShutdown) })
		r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		start := time.Now()
		_, err := w.over(base, retrying(every(time.Minute))).Do(r)
		is.Equal(time.Since(start), time.Second)  // at once
		is.True(errors.Is(err, context.Canceled)) // the context's error,
		is.True(errors.Is(err, errShutdown))      // its cause,
		is.True(errors.Is(err, lost))             // and the last outcome
		is.Equal(err.Error(), `Get "`+w.URL+`": resilient: client "orders": context canceled: the program shuts down `+
			`while waiting to retry (last attempt: connection lost)`) // in words
	})
}

func TestCallerWhoLeavesDuringAnAttemptGetsWhatItWouldGetWithoutUs(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, l := range departures() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(httptestx.Stall...)
					call := func(c *http.Client) error {
						r, _ := http.NewRequest("GET", w.URL, nil)
						r, done := l.request(r)
						defer done()
						start := time.Now()
						_, err := c.Do(r)
						is.Equal(time.Since(start), 2*time.Second) // at once when it leaves
						return err
					}
					bare := call(w.Client())
					got := call(w.client(retrying(every(time.Second)).
						Timeout(resilient.Total(time.Minute), resilient.PerAttempt(time.Minute))))
					is.Equal(got.Error(), bare.Error())                              // the same words
					is.Equal(errors.Unwrap(got), errors.Unwrap(bare))                // the same error
					is.Equal(w.arrived(), 2)                                         // one attempt each
					is.Equal(eventsOf[resilient.AttemptDone](w)[0].Transient, false) // which nobody would repeat
					is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0)          // nor did
				})
			})
		}
	})
}

func TestCallThatIsCancelledBeforehandSendsAndCountsNothing(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, l := range departures() {
			if name == "Request.Cancel" {
				continue // is the transport's business, see below
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					body := track("order")
					r, _ := http.NewRequest("PUT", w.URL, nil)
					r.Body, r.ContentLength = body, 5
					r, done := l.request(r)
					defer done()
					time.Sleep(2*time.Second + 1) // it has left
					c := w.client(resilient.New("orders").Defaults(resilient.Conservative))
					_, err := c.Do(r)
					assertLeft(w.T, err, l)
					is.Equal(w.arrived(), 0)   // nothing is sent
					is.Equal(body.closed(), 1) // the body is closed
					s := w.registry.Snapshot()[0]
					is.Equal(s.Budget.Requests, uint64(0))                   // no call in the budget's books
					is.Equal(s.Breaker.Requests, uint64(0))                  // no attempt in the breaker's
					is.Equal(len(eventsOf[resilient.AttemptDone](w)), 0)     // none is told of
					is.Equal(eventsOf[resilient.CallDone](w)[0].Attempts, 0) // and the call had none
				})
			})
		}
	})
}

// What Request.Cancel makes of a call only net/http can say.
func TestRequestThatIsCancelledBeforehandIsNotRepeated(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Stall...)
			cancelled := make(chan struct{})
			close(cancelled)
			body := track("order")
			r, _ := http.NewRequest("PUT", w.URL, nil)
			r.Body, r.ContentLength = body, 5
			r.Cancel = cancelled //nolint:staticcheck // deprecated, but net/http still honours it
			_, err := w.client(retrying(every(time.Second))).Do(r)
			synctest.Wait()                                                      // over HTTP/2 the transport closes in its own time
			is.True(strings.Contains(err.Error(), "net/http: request canceled")) // the words are net/http's
			is.Equal(body.closed(), 1)                                           // the body is closed
			is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0)              // and that is all
		})
	})
}

// A server that answers the moment the caller leaves may be in time or not. The
// call ends with one or the other, and with nothing else.
func TestCallerWhoLeavesInTheMomentOfTheAnswer(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for range 20 {
			p.bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Script(asks("Retry-After", "1"), httptestx.Plan(httptestx.Delay(time.Second), httptestx.Handle))
				ctx, cancel := context.WithCancel(w.Context())
				time.AfterFunc(2*time.Second, cancel)
				body := track("order")
				r, _ := http.NewRequestWithContext(ctx, "PUT", w.URL, nil)
				r.Body, r.ContentLength = body, 5
				resp, err := w.client(retrying()).Do(r)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				var broken *net.OpError
				synctest.Wait()                                                                    // over HTTP/2 the transport closes in its own time
				is.True(err == nil || errors.Is(err, context.Canceled) || errors.As(err, &broken)) // in time, or not
				is.Equal(body.closed(), 1)                                                         // the body is closed
			})
		}
	})
}
