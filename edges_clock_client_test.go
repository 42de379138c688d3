package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A wallClock is one that somebody sets, back or forth, while it runs. Its
// timers run on all the same, as those of an operating system do.
type wallClock struct {
	*clockwork.FakeClock
	set atomic.Int64
}

func newWallClock() *wallClock { return &wallClock{FakeClock: clockwork.NewFakeClock()} }

func (c *wallClock) put(d time.Duration)             { c.set.Add(int64(d)) }
func (c *wallClock) Now() time.Time                  { return c.FakeClock.Now().Add(time.Duration(c.set.Load())) }
func (c *wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *wallClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func TestCircuitStandsStillWhileTheClockIsBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := &dependency{}
	w := newWorld(t, d)
	clock := newWallClock()
	c := w.client(brittle().Clock(clock))
	clock.Advance(time.Hour)
	w.trip(c, d)
	clock.Advance(5 * time.Second)
	_, err := w.post(c)
	is.Equal(refusal(err).RetryAfter, 10*time.Second)
	clock.put(-2 * time.Hour) // to before the client was built
	for range 3 {
		_, err = w.post(c)
		is.Equal(refusal(err).RetryAfter, 10*time.Second) // neither more nor less
	}
	is.Equal(w.circuit().Failures, uint64(2)) // and nothing is forgotten
	clock.put(2 * time.Hour)
	clock.Advance(10 * time.Second)
	d.answer(200)
	_, err = w.post(c)
	is.NoErr(err) // the break ends when the clock has caught up
	is.Equal(w.circuit().State, "closed")
}

func TestCircuitCountsWhileTheClockIsBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := &dependency{}
	w := newWorld(t, d)
	clock := newWallClock()
	c := w.client(brittle().Clock(clock).Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(2)))
	clock.Advance(time.Minute)
	d.answer(200)
	_, err := w.post(c)
	is.NoErr(err)
	clock.put(-time.Hour)
	d.answer(503)
	_, err = w.post(c)
	is.NoErr(err)
	is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "open", Requests: 2, Failures: 1, RetryAfter: 15 * time.Second})
	s := w.registry.Snapshot()[0].Budget
	is.Equal(s.Requests, uint64(2)) // both calls are in the window
	is.Equal(s.Retries, uint64(0))  // and the ratio of none is in force
}

// The clock is set while an attempt is on its way, and while a retry is waited for.
func TestTimeoutsAndWaitsWhileTheClockIsSet(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]time.Duration{"back": -time.Hour, "forth": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			arrived := make(chan bool, 1)
			clock := newWallClock()
			w := newWorld(t, nil)
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				if len(arrived) == 0 {
					arrived <- true
					<-r.Context().Done()
				}
				return hello(r)
			})
			began := clock.FakeClock.Now()
			b := resilient.New("orders").Defaults(resilient.None).Clock(clock).Timeout(resilient.PerAttempt(10*time.Second)).
				Retry(resilient.MaxRetries(1), resilient.Backoff(5*time.Second, 0), resilient.NoJitter)
			c := w.over(base, b)
			done := make(chan error, 1)
			go func() {
				resp, err := c.Get("http://x.test")
				if err == nil {
					resp.Body.Close()
				}
				done <- err
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			is.NoErr(clock.BlockUntilContext(ctx, 1)) // the attempt's timer
			clock.put(set)
			clock.Advance(10 * time.Second)
			is.NoErr(clock.BlockUntilContext(ctx, 1)) // the wait's
			clock.put(set)
			clock.Advance(5 * time.Second)
			is.NoErr(<-done)
			is.Equal(clock.FakeClock.Since(began), 15*time.Second) // the time that has passed, whatever the clock says
			for _, e := range eventsOf[resilient.AttemptDone](w) {
				is.True(e.Duration >= 0) // nothing takes less than no time
			}
			for _, e := range eventsOf[resilient.CallDone](w) {
				is.True(e.Duration >= 0)
			}
		})
	}
}

// A total timeout that is far ahead, or long over, because the clock was set
// does neither end a call early nor let it go on for ever.
func TestTotalTimeoutWhileTheClockIsSet(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	clock := newWallClock()
	w := newWorld(t, nil)
	attempts := 0
	c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		attempts++
		clock.put(-time.Hour)
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	}), resilient.New("orders").Defaults(resilient.None).Clock(clock).Timeout(resilient.Total(time.Second)).
		Retry(resilient.MaxRetries(3), resilient.Backoff(0, 0)))
	resp, err := c.Get("http://x.test")
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(attempts, 4) // as many as it may have
	for _, e := range eventsOf[resilient.CallDone](w) {
		is.True(e.Duration >= 0)
	}
}

// A Retry-After beyond all reason must not do harm that cannot be undone.
func TestEndlessRetryAfterDoesNotOverflow(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"99999999999", "9223372036854775807", "99999999999999999999999"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").First(2).Do(httptestx.Status(429, "Retry-After", value))
				c := w.client(brittle().Breaker(resilient.BreakUntilRetryAfter(true)))
				for range 2 {
					_, err := w.post(c)
					is.NoErr(err)
				}
				time.Sleep(24*time.Hour - time.Second)
				_, err := w.post(c)
				is.True(errors.Is(err, resilient.ErrCircuitOpen))
				is.Equal(refusal(err).RetryAfter, time.Second) // no break is longer than a day
				is.NoErr(w.registry.Isolate("orders"))
				is.NoErr(w.registry.Release("orders"))
				_, err = w.post(c)
				is.NoErr(err) // a person may know better
			})
		})
	}
}
