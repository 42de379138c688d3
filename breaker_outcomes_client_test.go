package resilient_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// counted is a breaker that only counts.
func counted() resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).
		Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(1000))
}

// tally is what the breaker of the only client name has counted.
func (w *world) tally() (requests, failures uint64) {
	c := w.circuit()
	return c.Requests, c.Failures
}

func TestBreakerCountsResponsesByTheirStatus(t *testing.T) {
	t.Parallel()
	for failed, statuses := range map[bool][]int{
		true:  {408, 429, 500, 502, 503, 504, 507, 599},
		false: {200, 204, 304, 400, 401, 403, 404, 409, 421, 422, 425, 501, 505},
	} {
		for _, status := range statuses {
			t.Run(http.StatusText(status), func(t *testing.T) {
				t.Parallel()
				bubble(t, always(status, ""), func(w *world) {
					is := is.New(w.T)
					got, err := w.post(w.client(counted()))
					is.NoErr(err)
					is.Equal(got, status) // the response is the caller's
					requests, failures := w.tally()
					is.Equal(requests, uint64(1))   // an attempt
					is.Equal(failures == 1, failed) // that failed, or not
				})
			})
		}
	}
}

func TestBreakerCountsFailuresWithoutAResponse(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string][]httptestx.Step{
		"connection reset":      httptestx.LostResponse,
		"connection closed":     httptestx.LostResponseEOF,
		"reset while uploading": httptestx.ResetBeforeRead,
		"attempt timeout":       httptestx.Stall,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(plan...)
				c := w.client(counted().Timeout(resilient.PerAttempt(time.Second)))
				_, err := w.post(c)
				is.True(err != nil) // no response
				requests, failures := w.tally()
				is.Equal(requests, uint64(1)) // an attempt
				is.Equal(failures, uint64(1)) // that failed
			})
		})
	}
}

// A dependency that shows a wrong certificate, or none, is not there.
func TestBreakerCountsConnectionsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := loopback(t, nil)
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	c := w.over(base, counted())
	_, err := c.Get(server.URL)
	is.True(err != nil) // its certificate is nobody's
	requests, failures := w.tally()
	is.Equal(requests, uint64(1)) // an attempt
	is.Equal(failures, uint64(1)) // that failed
	server.Close()
	_, err = c.Get(server.URL)
	is.True(err != nil) // it is gone
	requests, failures = w.tally()
	is.Equal(requests, uint64(2)) // an attempt
	is.Equal(failures, uint64(2)) // that failed
}

// leavings are the ways in which a caller leaves a call.
var leavings = map[string]func(*http.Request) (*http.Request, func()){
	"cancel": func(r *http.Request) (*http.Request, func()) {
		ctx, cancel := context.WithCancel(r.Context())
		return r.WithContext(ctx), cancel
	},
	"cancel with a cause": func(r *http.Request) (*http.Request, func()) {
		ctx, cancel := context.WithCancelCause(r.Context())
		return r.WithContext(ctx), func() { cancel(errBrowserClosed) }
	},
	"deadline": func(r *http.Request) (*http.Request, func()) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		return r.WithContext(ctx), func() { <-ctx.Done(); cancel() }
	},
	"deadline with a cause": func(r *http.Request) (*http.Request, func()) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), time.Second, errBrowserClosed)
		return r.WithContext(ctx), func() { <-ctx.Done(); cancel() }
	},
	"Request.Cancel": func(r *http.Request) (*http.Request, func()) {
		ch := make(chan struct{})
		r.Cancel = ch //nolint:staticcheck // deprecated, but net/http still honours it
		return r, func() { close(ch) }
	},
}

var errBrowserClosed = errors.New("the browser was closed")

// Users who close their browser do not open the circuit of a healthy server.
func TestBreakerIgnoresCallersWhoLeave(t *testing.T) {
	t.Parallel()
	for name, leaving := range leavings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Stall...)
				c := w.client(workshop().Timeout(resilient.PerAttempt(10 * time.Second)))
				for range 100 {
					r, _ := http.NewRequest("POST", w.URL, strings.NewReader("{}"))
					r, leave := leaving(r)
					var left sync.WaitGroup
					left.Go(func() {
						time.Sleep(time.Second)
						leave()
					})
					_, err := c.Do(r)
					left.Wait()
					is.True(err != nil)
					is.True(!errors.Is(err, resilient.ErrCircuitOpen)) // it was sent
				}
				is.Equal(w.arrived(), 100)                                        // all hundred were
				is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "closed"}) // and none counts
				for _, e := range eventsOf[resilient.AttemptDone](w) {
					is.True(!e.Transient) // nor is worth a retry
				}
			})
		})
	}
}

func TestBreakerIgnoresACallCutByItsTotalTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Stall...)
		c := w.client(counted().Timeout(resilient.Total(time.Second)))
		_, err := w.post(c)
		is.True(errors.Is(err, resilient.ErrTotalTimeout))
		requests, _ := w.tally()
		is.Equal(requests, uint64(0)) // the call was short of time, whatever the dependency did
	})
}

// An attempt that may take as long as the call ends with the call.
func TestBreakerIgnoresAnAttemptThatEndsTogetherWithTheCall(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Stall...)
		c := w.client(counted().Timeout(resilient.Total(time.Second), resilient.PerAttempt(time.Second)))
		_, err := w.post(c)
		is.True(errors.Is(err, resilient.ErrTotalTimeout)) // at the same instant the total wins
		requests, _ := w.tally()
		is.Equal(requests, uint64(0))
	})
}

func TestBreakerIgnoresRefusalsByOtherGates(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(counted().Concurrency(resilient.Permits(1)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		for range 5 {
			_, err = w.post(c)
			is.True(errors.Is(err, resilient.ErrConcurrencyLimit)) // the only permit is taken
		}
		read(w.T, resp)
		requests, failures := w.tally()
		is.Equal(requests, uint64(1)) // only the call that was sent
		is.Equal(failures, uint64(0))
	})
}

func TestBreakerIgnoresPanics(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(){
		"panic":  func() { panic("base") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { fault(); return nil, nil }), counted())
			aside(func() { _, _ = w.post(c) })
			requests, _ := w.tally()
			is.Equal(requests, uint64(0)) // neither success nor failure
		})
	}
}

// aside runs f on a goroutine of its own, which it waits for, and returns what f panicked with.
func aside(f func()) (panicked any) {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	return <-done
}

// Nothing about the dependency can be learnt from what is the caller's own fault.
func TestBreakerIgnoresTheCallersOwnFaults(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(*http.Request){
		"a body that fails":        func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(errBrowserClosed)) },
		"a body that is too short": func(r *http.Request) { r.ContentLength = 10 },
		"a body that is too long":  func(r *http.Request) { r.ContentLength = 1 },
		"an unsupported scheme":    func(r *http.Request) { r.URL.Scheme = "gopher" },
		"a header that can't be":   func(r *http.Request) { r.Header["X\n"] = []string{"1"} },
		"a value that can't be":    func(r *http.Request) { r.Header["X"] = []string{"\n"} },
		"a method that can't be":   func(r *http.Request) { r.Method = "A B" },
		"no host":                  func(r *http.Request) { r.URL.Host = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				rt := w.client(counted().Retry(resilient.Backoff(0, 0))).Transport
				r, _ := http.NewRequest("PUT", w.URL, io.NopCloser(strings.NewReader("{}")))
				request(r)
				_, err := rt.RoundTrip(r)
				is.True(err != nil)
				requests, _ := w.tally()
				is.Equal(requests, uint64(0))                           // it does not count
				is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0) // and is not repeated
			})
		})
	}
}
