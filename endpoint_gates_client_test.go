package resilient_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// tight is a client of the endpoints, in this order, each of which has so many tokens and one more a minute.
func tight(burst int, names ...string) resilient.Builder {
	return spread(resilient.Ordered, places(names...)...).RateLimit(resilient.PerMinute(1), resilient.Burst(burst))
}

// touchy has endpoints that two failures open for a minute.
func touchy(names ...string) resilient.Builder {
	return spread(resilient.Ordered, places(names...)...).
		Breaker(resilient.FailureRatio(0.1), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute))
}

// The one that is free of the throttle has no tokens, the one with tokens is throttled: no time is right for both, and
// five seconds are right for the second.
func TestRetryWaitsForAThrottledEndpointIfTheOthersHaveNoTokens(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.TooManyRequests(5 * time.Second))
		c := w.client(tight(2, "a", "b").Retry(resilient.MaxRetries(3), every(time.Second)))
		other := w.client(tight(2, "b"))
		for range 2 {
			_, err := w.call(other)
			is.NoErr(err) // b is without tokens now
		}
		start := time.Now()
		status, err := w.call(c)
		is.NoErr(err)                                     // the retry can be served
		is.Equal(status, 200)                             // by a
		is.Equal(time.Since(start), 5*time.Second)        // when it may be called again
		is.Equal(w.visited(), "b b a a")                  // and not earlier
		is.Equal(len(eventsOf[resilient.Rejected](w)), 0) // nothing was refused
	})
}

// A retry that no endpoint can serve is denied, whatever the reason is at each: the response would be lost.
func TestRetryIsDeniedIfEachEndpointHasAnotherReason(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		build := func(names ...string) resilient.Builder {
			return touchy(names...).RateLimit(resilient.PerMinute(1), resilient.Burst(3))
		}
		_, err := w.call(w.client(build("a")))
		is.NoErr(err) // a failure
		other := w.client(build("b"))
		for range 3 {
			_, err := w.call(other)
			is.NoErr(err) // b is without tokens then
		}
		status, err := w.call(w.client(build("a", "b").Retry(resilient.MaxRetries(3), every(time.Second))))
		is.NoErr(err)                      // not ErrNoEndpoint
		is.Equal(status, 500)              // the response that there was, which has opened a
		is.Equal(len(w.denials()), 1)      // denied
		is.Equal(w.visited(), "a b b b a") // nothing was sent
	})
}

// Tokens that come in two seconds are waited for, also if another endpoint is throttled for one second: that says
// nothing about when this one can serve.
func TestWaitForTokensDoesNotDependOnAThrottledEndpoint(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(429, "Retry-After", "1"))
		c := w.client(spread(resilient.Ordered, places("a", "b")...).
			RateLimit(resilient.PerMinute(30), resilient.Burst(1), resilient.Wait(time.Minute)))
		for range 2 {
			_, err := w.call(c)
			is.NoErr(err)
		}
		is.Equal(w.visited(), "a b")
		start := time.Now()
		_, err := w.call(c)
		is.NoErr(err)                              // b has tokens in time
		is.Equal(time.Since(start), 2*time.Second) // these
		is.Equal(w.visited(), "a b b")
	})
}

func TestRetriesGoRoundTheEndpoints(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, places("a", "b", "c")...).Retry(resilient.MaxRetries(6), every(time.Second)))
		_, err := w.call(c)
		is.NoErr(err)
		is.Equal(w.visited(), "a b c a b c a") // each prefers another than the one before
	})
}

func TestAbsurdRetryAfterOfTheOnlyEndpointIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Status(429, "Retry-After", "172800")) // two days
		c := w.client(spread(resilient.RoundRobin, places("a")...).Retry(resilient.MaxRetries(1), every(time.Second)))
		start := time.Now()
		_, err := w.call(c)
		is.NoErr(err)
		is.Equal(w.denials(), []string{"retry_after"}) // as without endpoints
		is.Equal(time.Since(start), time.Duration(0))  // nobody waits for one day to come too early
	})
}

// A transition that is told late, by another call's goroutine, is about the endpoint that it happened at.
func TestBreakerChangedNamesTheEndpointAlsoIfItIsToldLate(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		hold := make(chan struct{})
		var breaks atomic.Int32
		b := touchy("a", "b").Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration {
			if breaks.Add(1) == 1 {
				<-hold // the first transition is told when this is over
			}
			return time.Minute
		}))
		plain, c := w.client(b), w.client(b.Retry(resilient.MaxRetries(1), every(time.Second)))
		_, err := w.call(plain)
		is.NoErr(err)
		var slow sync.WaitGroup
		slow.Go(func() { _, _ = w.call(plain) })
		time.Sleep(time.Minute)
		_, err = w.call(c) // the probe at a, which fails, and a retry at b
		is.NoErr(err)
		is.Equal(w.visited(), "a a a b")
		close(hold)
		slow.Wait()
		var told []string
		for _, e := range eventsOf[resilient.BreakerChanged](w) {
			told = append(told, e.Endpoint+" "+e.To)
		}
		is.Equal(told, []string{"a open", "a half-open", "a open"}) // none of them is b's
	})
}

// What the call itself has met was at another endpoint.
func TestSkippedEndpointTellsOfItsOwnFailure(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(502))
		w.On("b/").Do(httptestx.Status(500))
		other := w.client(touchy("b"))
		for range 2 {
			_, err := w.call(other)
			is.NoErr(err) // b is open, for status 500
		}
		var call sync.WaitGroup
		call.Go(func() {
			_, err := w.call(w.client(touchy("a", "b").Retry(resilient.MaxRetries(1), every(2*time.Second))))
			is.True(errors.Is(err, resilient.ErrNoEndpoint))
			is.True(strings.Contains(err.Error(), "b: circuit breaker is open for 58s (last failure: status 500 Internal Server Error)"))
		})
		time.Sleep(time.Second)
		_, err := w.call(w.client(touchy("a", "b"))) // which opens a
		is.NoErr(err)
		call.Wait()
	})
}

// Header is the policy's: what a Rewrite does to a value must not be there at the next attempt.
func TestRewriteChangesOneAttemptOnly(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, resilient.Endpoint{
			URL: "http://a", Header: http.Header{"X-Key": {"k"}},
			Rewrite: func(r *http.Request) { r.Header["X-Key"][0] += "!" },
		}))
		for range 2 {
			_, err := w.call(c)
			is.NoErr(err)
		}
		is.Equal(w.Exchanges()[0].Header.Get("X-Key"), "k!")
		is.Equal(w.Exchanges()[1].Header.Get("X-Key"), "k!") // not twice
	})
}
