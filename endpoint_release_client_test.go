package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// Wherever a call panics, its permit comes back, and what was not sent is not charged. The transport may have sent it.
func TestPanicOnTheWayToAnEndpointGivesEverythingBack(t *testing.T) {
	t.Parallel()
	broken := true
	boom := func() {
		if broken {
			panic("boom")
		}
	}
	base := spread(resilient.Ordered, places("a")...)
	for name, row := range map[string]struct {
		builder resilient.Builder
		charged int
	}{
		"key":  {spread(resilient.Ordered.StickyBy(func(*http.Request) string { boom(); return "" }), places("a")...), 0},
		"cost": {base.RateLimit(resilient.PerMinute(1), resilient.Cost(func(*http.Request) int { boom(); return 1 })), 0},
		"observer": {base.Observe(func(_ context.Context, e resilient.Event) {
			if _, ok := e.(resilient.AttemptDone); ok {
				boom()
			}
		}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				c := w.client(row.builder.Concurrency(resilient.Permits(1)).RateLimit(resilient.PerMinute(1), resilient.Burst(2)))
				broken = true
				is.Equal(aside(func() { _, _ = w.call(c) }), "boom")
				broken = false
				w.served(c, 2-row.charged, 200) // the permit is free, and the tokens are there
				_, err := w.call(c)
				is.True(errors.Is(err, resilient.ErrRateLimited))
			})
		})
	}
}

// A probe that nobody hears of again gives its place back.
func TestProbeOfAnEndpointThatPanicsGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.Plan(httptestx.Status(500)), httptestx.Plan(httptestx.Status(500)))
		broken := false
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken {
				panic("base")
			}
			return w.Client().Transport.RoundTrip(r)
		})
		c := w.over(base, fragile(spread(resilient.Ordered, places("a", "b")...)).Concurrency(resilient.Permits(1)))
		w.served(c, 2, 500)
		time.Sleep(time.Minute)
		broken = true
		is.Equal(aside(func() { _, _ = w.call(c) }), "base")
		broken = false
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a a a") // another probe at once
	})
}

func TestProbeOfAnEndpointThatIsCancelledGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.Plan(httptestx.Status(500)), httptestx.Plan(httptestx.Status(500)), httptestx.Plan(httptestx.Hang))
		c := w.client(fragile(spread(resilient.Ordered, places("a", "b")...)))
		w.served(c, 2, 500)
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := w.callWith(ctx, c)
		is.True(errors.Is(err, context.Canceled))
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a a a a") // not b
	})
}

// Who leaves while he waits for the tokens of an endpoint leaves them to others, and is not sent anywhere else.
func TestCallerWhoLeavesTheWaitGivesTheEndpointsTokensBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a", "b")...).
			RateLimit(resilient.PerMinute(1), resilient.Wait(time.Hour)).Retry(resilient.MaxRetries(3), every(0)))
		start := time.Now()
		w.served(c, 2, 200)
		ctx, cancel := context.WithCancel(w.Context())
		left := make(chan error)
		go func() {
			_, err := w.callWith(ctx, c)
			left <- err
		}()
		time.Sleep(10 * time.Second)
		cancel()
		is.True(errors.Is(<-left, context.Canceled)) // at once
		synctest.Wait()
		is.Equal(time.Since(start), 10*time.Second)
		w.served(c, 2, 200)
		is.Equal(w.arrivals(start), []time.Duration{0, 0, time.Minute, time.Minute}) // one each, as if he had never come
		is.Equal(w.visited(), "a b a b")
	})
}

// A deadline within the wait is known beforehand.
func TestDeadlineBeforeAnyTokensIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a", "b")...).RateLimit(resilient.PerMinute(1), resilient.Wait(time.Hour)))
		w.served(c, 2, 200)
		ctx, cancel := context.WithTimeout(w.Context(), 59*time.Second)
		defer cancel()
		start := time.Now()
		_, err := w.callWith(ctx, c)
		is.True(errors.Is(err, resilient.ErrNoEndpoint))
		is.Equal(rejection(err).RetryAfter, time.Minute)
		is.Equal(time.Since(start), time.Duration(0))
	})
}
