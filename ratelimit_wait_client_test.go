package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// queue makes calls one after the other, each in a goroutine, and returns their errors in the order of the calls.
func queue(w *world, c *http.Client, n int) []error {
	results := make([]chan error, n)
	for i := range results {
		results[i] = make(chan error, 1)
		go func() {
			_, err := w.call(c)
			results[i] <- err
		}()
		synctest.Wait() // it waits for its tokens, or is done
	}
	errs := make([]error, n)
	for i, r := range results {
		errs[i] = <-r
	}
	return errs
}

func TestWaitIsServedInOrder(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.PerSecond(1), resilient.Wait(3*time.Second)))
		start := time.Now()
		errs := queue(w, c, 6)
		for _, err := range errs[:4] {
			is.NoErr(err) // as long as the wait is not too long
		}
		is.Equal(rejection(errs[4]).RetryAfter, 4*time.Second) // and then not a nanosecond later
		is.Equal(rejection(errs[5]).RetryAfter, 4*time.Second) // for the refused one has taken nothing
		is.Equal(w.arrivals(start), []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second})
	})
}

// First come, first served, also if the next would cost less.
func TestNobodyOvertakesWhoWaits(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.PerSecond(1), resilient.Burst(10), resilient.Wait(time.Minute)))
		start := time.Now()
		w.served(c, 4, 200)
		large := make(chan error)
		go func() {
			_, err := w.callWith(resilient.WithCost(w.Context(), 10), c)
			large <- err
		}()
		synctest.Wait()
		w.served(c, 1, 200) // a small one behind
		is.NoErr(<-large)
		is.Equal(w.arrivals(start)[4:], []time.Duration{4 * time.Second, 5 * time.Second})
	})
}

func TestWaitPastTheCallersTimeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"total", "deadline"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				b, ctx := withLimit(w, how, metered(resilient.Wait(time.Hour)), 90*time.Second)
				c := w.client(b)
				begin := time.Now()
				results := make(chan error, 2)
				for range 2 { // at once, and after 60 of 90 s
					go func() {
						_, err := w.callWith(ctx, c)
						results <- err
					}()
					synctest.Wait()
				}
				_, err := w.callWith(ctx, c)
				is.True(errors.Is(err, resilient.ErrRateLimited))  // and not a timeout
				is.Equal(rejection(err).RetryAfter, 2*time.Minute) // as long as it would have been
				is.Equal(time.Since(begin), time.Duration(0))      // nobody waits in vain
				is.NoErr(<-results)
				is.NoErr(<-results)
				is.Equal(w.arrivals(begin), []time.Duration{0, time.Minute})
			})
		})
	}
}

func TestCallerWhoLeavesTheWaitGivesTheTokensBack(t *testing.T) {
	t.Parallel()
	ways := departures()
	ways["CancelRequest"] = leaving{is: context.Canceled}
	for name, l := range ways {
		if l.timeout {
			continue // a wait past the deadline does not begin
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				c := w.client(metered(resilient.Wait(time.Hour)))
				w.served(c, 1, 200)
				body := track("order")
				r, _ := http.NewRequest("PUT", w.URL, body)
				done := func() {}
				if l.request != nil {
					r, done = l.request(r)
				} else {
					canceler := c.Transport.(interface{ CancelRequest(*http.Request) })
					time.AfterFunc(2*time.Second, func() { canceler.CancelRequest(r) })
				}
				defer done()
				start := time.Now()
				_, err := c.Do(r)
				is.Equal(time.Since(start), 2*time.Second) // at once when it leaves
				assertLeft(w.T, err, l)                    // with its own error
				is.Equal(body.closed(), 1)                 // and its body closed
				w.served(c, 1, 200)
				is.Equal(w.arrivals(start), []time.Duration{0, time.Minute}) // the next gets its token
			})
		})
	}
}

// Who waits already keeps his time, and who comes next need not wait behind one who has left.
func TestTokensOfWhoLeavesServeTheNext(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.PerSecond(1), resilient.Wait(time.Minute)))
		start := time.Now()
		w.served(c, 1, 200)
		ctx, cancel := context.WithCancel(w.Context())
		go func() { _, _ = w.callWith(ctx, c) }() // for 1 s
		synctest.Wait()
		waiting := make(chan error)
		go func() {
			_, err := w.call(c) // for 2 s
			waiting <- err
		}()
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		cancel()
		synctest.Wait()
		w.served(c, 1, 200) // for 2 s as well: the token that came back
		is.NoErr(<-waiting)
		is.Equal(w.arrivals(start), []time.Duration{0, 2 * time.Second, 2 * time.Second})
	})
}

// Waiting for tokens is no attempt: its time begins when they are there.
func TestAttemptTimeoutDoesNotCoverTheWaitForTokens(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Wait(time.Hour)).Timeout(resilient.PerAttempt(time.Second), resilient.Total(2*time.Minute)))
		w.served(c, 2, 200)
		done := eventsOf[resilient.AttemptDone](w)
		is.Equal(done[1].Duration, time.Duration(0))                       // of the attempt
		is.Equal(eventsOf[resilient.CallDone](w)[1].Duration, time.Minute) // of the call
	})
}
