package resilient_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestEndpointWithoutTokensIsPassedOver(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a", "b")...).RateLimit(resilient.PerMinute(2)))
		w.served(c, 4, 200)
		is.Equal(w.visited(), "a a b b") // each has two
		_, err := w.call(c)
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": no endpoint is available, retry after 30s: `+
			`a: rate limit reached for 30s; b: rate limit reached for 30s`)
		is.True(errors.Is(err, resilient.ErrNoEndpoint))
		is.True(errors.Is(err, resilient.ErrRateLimited)) // this is why
		is.Equal(rejection(err).RetryAfter, 30*time.Second)
		time.Sleep(30 * time.Second)
		w.served(c, 2, 200)
		is.Equal(w.visited(), "a a b b a b") // back to the first, as soon as it has one
	})
}

// A wait is for when none has tokens, and then for the one that has them first.
func TestWaitIsForTheEndpointThatHasTokensFirst(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, places("a", "b")...).
			RateLimit(resilient.PerMinute(1), resilient.Wait(time.Hour)))
		start := time.Now()
		w.served(c, 1, 200) // a
		time.Sleep(10 * time.Second)
		w.served(c, 1, 200) // b, although it might wait
		time.Sleep(10 * time.Second)
		w.served(c, 1, 200) // a, its turn, after 60 s
		w.served(c, 1, 200) // b, after 70 s
		w.served(c, 1, 200) // a, after 120 s
		w.served(c, 1, 200) // b
		is.Equal(w.visited(), "a b a b a b")
		is.Equal(w.arrivals(start), []time.Duration{0, 10 * time.Second, 60 * time.Second, 70 * time.Second, 120 * time.Second, 130 * time.Second})

		w.served(c, 1, 200) // a, after 180 s
		go w.served(c, 1, 200)
		synctest.Wait()     // it has b's token of 190 s
		w.served(c, 1, 200) // begins with a, whose turn it is, after 240 s
		is.Equal(w.visited(), "a b a b a b a b a")
		is.Equal(w.arrivals(start)[6:], []time.Duration{180 * time.Second, 190 * time.Second, 240 * time.Second})
	})
}

// The tokens of those who wait are taken: nobody waits for the same one.
func TestWaitersAreSpreadOverTheEndpoints(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a", "b")...).
			RateLimit(resilient.PerMinute(1), resilient.Wait(2*time.Minute)))
		start := time.Now()
		results := make(chan error, 7)
		for range 7 {
			go func() {
				_, err := w.call(c)
				results <- err
			}()
			synctest.Wait()
		}
		is.Equal(rejection(<-results).RetryAfter, time.Duration(0)) // two are served
		is.Equal(rejection(<-results).RetryAfter, time.Duration(0))
		is.Equal(rejection(<-results).RetryAfter, 3*time.Minute) // the seventh is refused: that is too long
		for range 4 {
			is.NoErr(<-results) // four wait
		}
		is.Equal(w.arrivals(start), []time.Duration{0, 0, time.Minute, time.Minute, 2 * time.Minute, 2 * time.Minute})
	})
}

// What costs more than a bucket holds can be sent nowhere.
func TestCostAboveBurstIsRefusedWithoutAskingEachEndpoint(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a", "b")...).RateLimit(resilient.PerMinute(10)))
		_, err := w.callWith(resilient.WithCost(w.Context(), 11), c)
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": rate limit reached: `+
			`it costs 11 tokens, and the rate limit holds 10 at most`)
		is.Equal(rejection(err).Gate, "rate_limit")
		is.Equal(len(eventsOf[resilient.EndpointSkipped](w)), 0)
		is.Equal(w.arrived(), 0)
	})
}

// The tokens that an endpoint was asked for whose circuit is open are its own again.
func TestSkippedEndpointGetsItsTokensBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.Plan(httptestx.Status(500)), httptestx.Plan(httptestx.Status(500)))
		c := w.client(fragile(spread(resilient.Ordered, places("a", "b")...)).RateLimit(resilient.PerMinute(1), resilient.Burst(10)))
		w.served(c, 2, 500)
		w.served(c, 5, 200) // b, and a was asked five times
		time.Sleep(time.Minute)
		w.served(c, 9, 200) // eight were left, and one has come
		is.Equal(w.visited(), "a a b b b b b a a a a a a a a a")
		w.served(c, 1, 200)
		is.Equal(w.Exchanges()[16].Host, "b") // now a has none
	})
}

// A call that has paid is not asked again, wherever its retries go.
func TestPerCallIsPaidOnceAtTheFirstEndpoint(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, places("a", "b")...).Retry(resilient.MaxRetries(1), every(0)).
			RateLimit(resilient.PerMinute(1), resilient.PerCall))
		w.served(c, 2, 500)
		is.Equal(w.visited(), "a b b a")
		_, err := w.call(c)
		is.True(errors.Is(err, resilient.ErrRateLimited)) // each has had its one
	})
}

// A retry goes where there are tokens.
func TestRetryPassesOverAnEndpointWithoutTokens(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		b := spread(resilient.Ordered, places("a", "b", "c")...).RateLimit(resilient.PerMinute(1))
		w.served(w.client(b.Endpoints(resilient.Ordered, places("b")...)), 1, 500)
		w.served(w.client(b.Retry(resilient.MaxRetries(3), every(time.Second))), 1, 500)
		is.Equal(w.visited(), "b a c")
		is.Equal(w.denials(), []string{"rate_limited"}) // and if there are none anywhere, it is not made
	})
}
