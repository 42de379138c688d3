package resilient_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// What the server may have had is paid for, whatever became of it.
func TestTokensAreTakenForWhatIsSent(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string][]httptestx.Step{
		"answered":                    {httptestx.Handle},
		"throttled":                   httptestx.TooManyRequests(time.Second),
		"unavailable":                 httptestx.Unavailable(0),
		"lost":                        httptestx.LostResponse,
		"reset, with nothing read":    httptestx.ResetBeforeRead,
		"timed out":                   httptestx.Stall,
		"a body that was never whole": httptestx.TruncatedBody(1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "body"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Nth(1).Do(plan...)
				c := w.client(metered(resilient.Burst(10)).Timeout(resilient.PerAttempt(time.Second)))
				resp, err := c.Post(w.URL, "text/plain", nil)
				if err == nil {
					_ = resp.Body.Close()
				}
				is.Equal(w.missing(c, 10), 1)
			})
		})
	}
}

func TestTokensComeBackForWhatIsNotSent(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		b := metered(resilient.Burst(10)).Breaker(resilient.MinimumThroughput(100))
		c := w.client(b)
		is.NoErr(w.registry.Isolate("orders"))
		_, err := w.call(c)
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // the breaker refuses
		is.NoErr(w.registry.Release("orders"))
		_, err = w.call(w.over(unreachable(), b))
		is.True(errors.Is(err, syscall.ECONNREFUSED)) // no connection is to be had
		_, err = w.call(w.over(unreachable(), b.Retry(resilient.MaxRetries(4), every(0))))
		is.True(errors.Is(err, syscall.ECONNREFUSED)) // nor for any retry
		is.Equal(w.missing(c, 10), 0)                 // all ten are there
		is.Equal(w.arrived(), 1)
	})
}

// A base that does not tell what it does may have sent it.
func TestTokensAreTakenIfNobodyKnowsWhetherItWasSent(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("lost") }), metered(resilient.Burst(10)))
		_, err := w.call(c)
		is.True(err != nil)
		is.Equal(w.missing(c, 10), 1)
	})
}

func TestEachAttemptTakesItsCost(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options []resilient.RateLimitOption
		taken   int
	}{
		"an attempt": {nil, 12},
		"a call":     {[]resilient.RateLimitOption{resilient.PerCall}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, ""), func(w *world) {
				is := is.New(w.T)
				costs := 0
				c := w.client(metered(resilient.Burst(20), resilient.Cost(func(*http.Request) int { costs++; return 4 })).
					RateLimit(row.options...).Retry(resilient.MaxRetries(2), every(time.Second)))
				_, err := w.call(c)
				is.NoErr(err)
				is.Equal(w.arrived(), 3)
				is.Equal(costs, 1) // it is asked once
				is.Equal(w.missing(c, 20), row.taken)
			})
		})
	}
}

// A call that could not be sent has not paid yet.
func TestPerCallIsPaidByTheFirstAttemptThatIsSent(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n <= 2 {
				return unreachable().RoundTrip(r)
			}
			return w.Client().Transport.RoundTrip(r)
		})
		c := w.over(base, metered(resilient.Burst(10), resilient.PerCall).Retry(resilient.MaxRetries(4), every(0)))
		w.served(c, 1, 503)
		is.Equal(w.arrived(), 3)
		is.Equal(w.missing(c, 10), 1) // of five attempts
	})
}

// The caller keeps what there is, if there will be no tokens for the retry.
func TestRetryThatWouldFindNoTokensIsDenied(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "busy"), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(2)).Retry(resilient.MaxRetries(5), every(time.Second)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)                     // no refusal is made of a response
		is.Equal(read(w.T, resp), "busy") // it is unread
		is.Equal(w.arrived(), 2)
		is.Equal(w.denials(), []string{"rate_limited"})
		is.Equal(w.registry.Snapshot()[0].RetriesDenied["rate_limited"], uint64(1))
		is.Equal(len(eventsOf[resilient.Rejected](w)), 0)
		is.Equal(rejection(second(w.call(c))).RetryAfter, 59*time.Second) // nothing was taken for it
	})
}

func second(_ int, err error) error { return err }

// The delay, and the longest wait, are time for tokens to come.
func TestRetryIsMadeIfItsTokensComeInTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		delay, wait time.Duration
		at          []time.Duration
	}{
		"in the delay":   {time.Minute, 0, []time.Duration{0, time.Minute, 2 * time.Minute}},
		"in the wait":    {0, time.Minute, []time.Duration{0, time.Minute, 2 * time.Minute}},
		"in both":        {40 * time.Second, 20 * time.Second, []time.Duration{0, time.Minute, 2 * time.Minute}},
		"after both":     {40 * time.Second, 20*time.Second - 1, []time.Duration{0}},
		"before a delay": {90 * time.Second, time.Minute, []time.Duration{0, 90 * time.Second, 180 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, ""), func(w *world) {
				is := is.New(w.T)
				c := w.client(metered(resilient.Wait(row.wait)).Retry(resilient.MaxRetries(2), every(row.delay)))
				begin := time.Now()
				w.served(c, 1, 503)
				is.Equal(w.arrivals(begin), row.at)
				is.Equal(len(eventsOf[resilient.Rejected](w)), 0)
			})
		})
	}
}
