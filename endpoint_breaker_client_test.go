package resilient_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// fragile is a breaker that two failures open for a minute.
func fragile(b resilient.Builder) resilient.Builder {
	return b.Breaker(resilient.FailureRatio(0.1), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute))
}

// One endpoint of two is down. In ten minutes it gets the two calls that open its circuit, and a probe a minute.
func TestOpenCircuitOfOneEndpointDoesNotConcernTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		c := w.client(fragile(spread(resilient.RoundRobin, places("a", "b")...)))
		failed, served := 0, 0
		for range 600 {
			switch status, err := w.call(c); {
			case err == nil && status == 200:
				served++
			case err == nil && status == 500:
				failed++
			default:
				t.Fatal(status, err)
			}
			time.Sleep(time.Second)
		}
		is.Equal(failed, 2+9) // what a has got
		is.Equal(served, 589) // all others are served by b: not half of them
		for _, e := range eventsOf[resilient.BreakerChanged](w) {
			is.Equal(e.Endpoint, "a") // the circuit of b has never moved
		}
	})
}

// With a retry nobody notices.
func TestRetryMakesUpForTheEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.LostResponse...)
		c := w.client(fragile(spread(resilient.RoundRobin, places("a", "b")...)).Retry(resilient.MaxRetries(1), every(0)))
		for range 600 {
			w.served(c, 1, 200)
			time.Sleep(time.Second)
		}
		is.Equal(w.arrived(), 600+11)                     // with what a got meanwhile
		is.Equal(w.denials(), []string(nil))              // each of which was repeated
		is.Equal(len(eventsOf[resilient.Rejected](w)), 0) // an endpoint that is skipped is no rejection
	})
}

// Nor does anybody of many at once: each call is answered by another endpoint, once.
func TestEndpointThatIsDownCostsNoCallOfManyAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		base := &crowd{}
		c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if r.URL.Host == "a" {
				resp.StatusCode = 500
			}
			return resp, err
		}), fragile(spread(resilient.RoundRobin, places("a", "b", "c")...)).Retry(resilient.MaxRetries(1), every(0)))
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() { w.served(c, 30, 200) })
		}
		all.Wait()
		is.Equal(base.calls["b"]+base.calls["c"], 64*30)         // each call is served
		is.True(base.calls["a"] >= 2 && base.calls["a"] <= 64+1) // once two have failed, a gets what is on its way to it
	})
}

// When its break is over an endpoint gets one call, and the others go on.
func TestHalfOpenEndpointGetsOneProbe(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.Plan(httptestx.Status(500)), httptestx.Plan(httptestx.Status(500)),
			httptestx.Plan(httptestx.Delay(time.Second), httptestx.Handle))
		c := w.client(fragile(spread(resilient.Ordered, places("a", "b")...)))
		w.served(c, 2, 500)
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a a b") // a is open
		time.Sleep(time.Minute)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { w.served(c, 1, 200) })
		}
		all.Wait()
		hosts := map[string]int{}
		for _, e := range w.Exchanges()[3:] {
			hosts[e.Host]++
		}
		is.Equal(hosts, map[string]int{"a": 1, "b": 49}) // one finds out how a is
		w.served(c, 1, 200)
		is.Equal(w.Exchanges()[53].Host, "a") // which is well
		var told []string
		for _, e := range eventsOf[resilient.BreakerChanged](w) {
			told = append(told, e.Endpoint+" "+e.To)
		}
		is.Equal(told, []string{"a open", "a half-open", "a closed"})
		for _, e := range eventsOf[resilient.EndpointSkipped](w) {
			is.Equal(e.Endpoint, "a") // each that went to b has passed it over
			is.Equal(e.Gate, "circuit_breaker")
			is.Equal(e.RetryAfter, time.Minute)
		}
		is.Equal(len(eventsOf[resilient.EndpointSkipped](w)), 50) // those, and the third
	})
}

// The caller keeps what there is, if no endpoint can serve the retry in time.
func TestRetryIsDeniedIfAllCircuitsAreOpen(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, "down"), func(w *world) {
		is := is.New(w.T)
		c := w.client(fragile(spread(resilient.RoundRobin, places("a", "b")...)).Retry(resilient.MaxRetries(9), every(time.Second)))
		resp, err := c.Get("http://nowhere.test/")
		is.NoErr(err)
		is.Equal(read(w.T, resp), "down") // the last response, unread
		is.Equal(resp.StatusCode, 500)
		is.Equal(w.denials(), []string{"circuit_open"})
		is.Equal(w.arrived(), 4) // two at each
	})
}

// One endpoint is open, one has no tokens, one has asked to be left alone.
func noneLeft(w *world) *http.Client {
	list := places("a", "b", "c")
	build := func(list ...resilient.Endpoint) *http.Client {
		return w.client(fragile(spread(resilient.Ordered, list...)).RateLimit(resilient.PerMinute(1), resilient.Burst(3)))
	}
	w.On("a/").Do(httptestx.Status(500))
	w.On("c/").Do(httptestx.TooManyRequests(40 * time.Second)...)
	a, b, c := build(list[0]), build(list[1]), build(list[2])
	w.served(b, 3, 200)
	time.Sleep(10 * time.Second)
	w.served(a, 2, 500)
	w.served(c, 1, 429)
	return build(list...)
}

func TestErrorTellsWhyEachEndpointIsNotAvailable(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := noneLeft(w)
		arrived := w.arrived()
		_, err := w.call(c)
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": no endpoint is available, retry after 40s: `+
			`a: circuit breaker is open for 1m0s (last failure: status 500 Internal Server Error); `+
			`b: rate limit reached for 50s; c: asked to be left alone for 40s`) // as people read it
		is.True(errors.Is(err, resilient.ErrNoEndpoint))                    // and as programs do
		is.True(errors.Is(err, resilient.ErrCircuitOpen))                   // of a
		is.True(errors.Is(err, resilient.ErrRateLimited))                   // of b
		is.True(!errors.Is(err, resilient.ErrConcurrencyLimit))             // of nobody
		is.Equal(rejection(err).Client, "orders")                           // whose
		is.Equal(rejection(err).Gate, "endpoints")                          // not that of one endpoint
		is.Equal(rejection(err).RetryAfter, 40*time.Second)                 // the smallest
		is.Equal(w.arrived(), arrived)                                      // nothing was sent
		is.Equal(w.registry.Snapshot()[0].Rejected["endpoints"], uint64(1)) // and it is counted
		source := resilient.Source{Client: "orders"}
		is.Equal(eventsOf[resilient.EndpointSkipped](w), []resilient.EndpointSkipped{
			{Source: source, Endpoint: "a", Gate: "circuit_breaker", RetryAfter: time.Minute},
			{Source: source, Endpoint: "b", Gate: "rate_limit", RetryAfter: 50 * time.Second},
			{Source: source, Endpoint: "c", Gate: "throttle", RetryAfter: 40 * time.Second},
		})
		is.Equal(eventsOf[resilient.Rejected](w), []resilient.Rejected{
			{Source: source, Gate: "endpoints", RetryAfter: 40 * time.Second},
		})
		done := eventsOf[resilient.CallDone](w)
		is.Equal(done[len(done)-1].Attempts, 0)
	})
}

// Whoever is there first serves.
func TestCallIsServedAsSoonAsOneEndpointIsAvailable(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := noneLeft(w)
		time.Sleep(50*time.Second - 1)
		_, err := w.call(c) // c: 429 again, for another 40 s
		is.NoErr(err)
		time.Sleep(time.Nanosecond)
		w.served(c, 1, 200)
		is.Equal(w.visited(), "b b b a a c c b")
	})
}

func TestIsolateAndReleaseGoForAllEndpoints(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(fragile(spread(resilient.RoundRobin, places("a", "b")...)).Retry(resilient.MaxRetries(3), every(0)))
		is.NoErr(w.registry.Isolate("orders"))
		later := w.client(fragile(spread(resilient.RoundRobin, places("b", "c")...)))
		_, err := w.call(c)
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": no endpoint is available: `+
			`a: circuit breaker is open; b: circuit breaker is open`) // nobody knows for how long
		is.Equal(rejection(err).RetryAfter, time.Duration(0))
		_, err = w.call(later)
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // also an endpoint that came later
		is.Equal(w.arrived(), 0)
		is.NoErr(w.registry.Release("orders"))
		w.served(c, 2, 200)
		w.served(later, 2, 200)
		is.Equal(w.visited(), "b a c b") // their turns were taken meanwhile
	})
}

// What one client of a name learns of an endpoint the other one knows, and of no other endpoint.
func TestClientsOfOneNameShareTheCircuitsOfTheirEndpoints(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		w.served(w.client(fragile(spread(resilient.Ordered, places("a")...))), 2, 500)
		w.served(w.client(fragile(spread(resilient.Ordered, places("a", "b")...))), 1, 200)
		is.Equal(w.visited(), "a a b") // it knows about a
		_, err := w.call(w.client(fragile(spread(resilient.Ordered, resilient.Endpoint{URL: "http://b", Name: "a"}))))
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // the name is what counts
		plain := w.client(fragile(resilient.New("orders").Defaults(resilient.None)))
		status, err := w.post(plain)
		is.NoErr(err) // where there are no endpoints, the client has its own
		is.Equal(status, 200)
		alien := w.client(fragile(resilient.New("alien").Defaults(resilient.None)).Endpoints(resilient.Ordered, places("a")...))
		w.served(alien, 1, 500) // another name, another circuit
	})
}

func TestBreakDurationFuncKnowsTheEndpoint(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("b/").Do(httptestx.Status(500))
		var at atomic.Pointer[string]
		c := w.client(fragile(spread(resilient.Ordered, places("b", "a")...)).
			Breaker(resilient.BreakDurationFunc(func(b resilient.Break) time.Duration {
				at.Store(&b.Attempt.Endpoint)
				return 5 * time.Second
			})))
		w.served(c, 2, 500)
		is.Equal(*at.Load(), "b")
		is.Equal(eventsOf[resilient.BreakerChanged](w), []resilient.BreakerChanged{{
			Source: resilient.Source{Client: "orders"}, Endpoint: "b", From: "closed", To: "open",
			Requests: 2, Failures: 2, Break: 5 * time.Second,
		}})
	})
}
