package resilient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// bounded is a client that does nothing but bound time.
func bounded(options ...resilient.TimeoutOption) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).Timeout(options...)
}

// What is stalled is the server, or a transport that does not say by
// whom it was stopped, as HTTP/2 does not.
func TestTimeoutSaysWhichOneItWas(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		forgetful := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		late := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return &http.Response{StatusCode: 200, Body: track("late")}, nil
		})
		for base, rt := range map[string]http.RoundTripper{"net/http": nil, "forgetful": forgetful, "late": late} {
			for name, c := range map[string]struct {
				b    resilient.Builder
				is   error
				not  error
				text string
				took time.Duration
			}{
				"attempt": {
					bounded(resilient.PerAttempt(50*time.Millisecond), resilient.Total(time.Second)),
					resilient.ErrAttemptTimeout, resilient.ErrTotalTimeout, "attempt timeout after 50ms", 50 * time.Millisecond,
				},
				"total": {
					bounded(resilient.Total(2 * time.Second)),
					resilient.ErrTotalTimeout, resilient.ErrAttemptTimeout, "total timeout after 2s", 2 * time.Second,
				},
				"both at once": {
					bounded(resilient.PerAttempt(time.Second), resilient.Total(time.Second)),
					resilient.ErrTotalTimeout, resilient.ErrAttemptTimeout, "total timeout after 1s", time.Second,
				},
			} {
				t.Run(base+" "+name, func(t *testing.T) {
					t.Parallel()
					p.bubble(t, always(200, "ok"), func(w *world) {
						is := is.New(w.T)
						w.On("/").Do(httptestx.Stall...)
						client := w.client(c.b)
						if rt != nil {
							client = w.over(rt, c.b)
						}
						start := time.Now()
						_, err := client.Get(w.URL)
						is.Equal(time.Since(start), c.took) // exactly then
						var outer *url.Error
						is.True(errors.As(err, &outer)) // net/http's wrapping
						is.True(outer.Timeout())        // which knows a timeout
						is.Equal(outer.Err.Error(), `resilient: client "orders": `+c.text)
						is.True(errors.Is(err, c.is))                     // it says which
						is.True(!errors.Is(err, c.not))                   // and which it was not
						is.True(errors.Is(err, context.DeadlineExceeded)) // it is a deadline to whoever asks
						is.True(!errors.Is(err, context.Canceled))        // and nobody has cancelled
						var netError net.Error
						is.True(errors.As(err, &netError) && netError.Timeout()) // as net/http's own timeouts are
					})
				})
			}
		}
	})
}

func TestAttemptTimeoutIsRetriedAndTheLastOneIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Stall...)
		start := time.Now()
		_, err := w.client(retrying(every(time.Second)).Timeout(resilient.PerAttempt(2 * time.Second))).Get(w.URL)
		is.True(errors.Is(err, resilient.ErrAttemptTimeout))                              // the last attempt's error
		is.Equal(w.arrivals(start), []time.Duration{0, 3 * time.Second, 6 * time.Second}) // 2 s of attempt, 1 s of wait
		is.Equal(time.Since(start), 8*time.Second)                                        // each attempt has its own 2 s
		for _, e := range eventsOf[resilient.AttemptDone](w) {
			is.Equal(e.Duration, 2*time.Second)
			is.True(e.Transient)                      // may pass
			is.Equal(e.Conclusion, resilient.Unknown) // and may have been processed
		}
		is.Equal(w.denials(), []string{"attempts"})
	})
}

// The total covers the attempts and the waits in between. It cuts what
// is running then, which is no failure of that attempt, and is not retried.
func TestTotalTimeoutCoversAttemptsAndWaits(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Stall...)
			start := time.Now()
			_, err := w.client(retrying(every(3*time.Second)).
				Timeout(resilient.PerAttempt(2*time.Second), resilient.Total(6*time.Second)).
				Breaker(resilient.MinimumThroughput(9), resilient.SamplingDuration(time.Minute))).Get(w.URL)
			is.True(errors.Is(err, resilient.ErrTotalTimeout))               // the call is over
			is.Equal(time.Since(start), 6*time.Second)                       // exactly then
			is.Equal(w.arrivals(start), []time.Duration{0, 5 * time.Second}) // in its second attempt
			done := eventsOf[resilient.AttemptDone](w)
			is.True(!done[1].Transient)                                    // which was not given its time
			is.Equal(done[1].Duration, time.Second)                        // but what was left
			is.Equal(w.denials(), []string(nil))                           // nobody asked for a third
			is.Equal(w.registry.Snapshot()[0].Breaker.Failures, uint64(1)) // nor blames the server for the second
		})
	})
}

func TestTotalTimeoutCoversTheQueue(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(bounded(resilient.Total(2*time.Second)).Concurrency(resilient.Permits(1), resilient.Queue(2)).
			Retry(every(time.Second)).Budget(resilient.MinimumThroughput(1)))
		first, err := c.Get(w.URL)
		is.NoErr(err) // the first call holds the permit as long as its body is open
		start := time.Now()
		_, err = c.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrTotalTimeout))      // the second waits in vain
		is.True(!errors.Is(err, resilient.ErrConcurrencyLimit)) // it was not refused
		is.Equal(time.Since(start), 2*time.Second)              // for exactly that long
		time.AfterFunc(1500*time.Millisecond, func() { read(w.T, first) })
		w.On("/").Do(httptestx.Stall...)
		start = time.Now()
		_, err = c.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrTotalTimeout)) // the third comes in
		is.Equal(time.Since(start), 2*time.Second)         // and the time it has waited is gone
		is.Equal(w.arrived(), 2)                           // it was sent, the second was not
		is.Equal(w.registry.Snapshot()[0].Budget.Requests, uint64(2))
	})
}

// A deadline of the caller's in the moment in which ours ends may go first or not.
// It is a timeout for all who ask, and no cancel.
func TestDeadlineInTheMomentOfATimeoutIsOneOrTheOther(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]resilient.Builder{
		"attempt": bounded(resilient.PerAttempt(time.Second)),
		"total":   bounded(resilient.Total(time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // for timers of one moment fire in any order
				bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(httptestx.Stall...)
					ctx, cancel := context.WithTimeout(w.Context(), time.Second)
					defer cancel()
					r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
					_, err := w.client(b).Do(r)
					is.True(errors.Is(err, context.DeadlineExceeded)) // a deadline
					var outer *url.Error
					is.True(errors.As(err, &outer) && outer.Timeout()) // in net/http's words
					is.True(!errors.Is(err, context.Canceled))         // no cancel
				})
			}
		})
	}
}

// The wait for a connection is a part of the attempt.
func TestAttemptTimeoutCoversTheWaitForAConnection(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		base := &http.Transport{DialContext: w.DialContext, MaxConnsPerHost: 1}
		defer base.CloseIdleConnections()
		c := w.over(base, bounded(resilient.PerAttempt(time.Second)))
		first, err := c.Get(w.URL)
		is.NoErr(err) // which has the only connection
		start := time.Now()
		_, err = c.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrAttemptTimeout)) // nobody waits longer than that
		is.Equal(time.Since(start), time.Second)
		is.Equal(eventsOf[resilient.AttemptDone](w)[1].Conclusion, resilient.Unprocessed) // nothing was sent
		read(w.T, first)
		synctest.Wait()
		is.Equal(w.arrived(), 1) // nor is it afterwards
	})
}

func TestHandlerLearnsThatItsAttemptTimedOut(t *testing.T) {
	t.Parallel()
	var left chan time.Time
	bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		left <- time.Now()
	}), func(w *world) {
		is := is.New(w.T)
		left = make(chan time.Time, 1) // in the bubble, or waiting for it would stop the time
		start := time.Now()
		_, err := w.client(bounded(resilient.PerAttempt(time.Second))).Get(w.URL)
		is.True(errors.Is(err, resilient.ErrAttemptTimeout)) // the client has gone
		is.Equal((<-left).Sub(start), time.Second)           // which the server sees
	})
}
