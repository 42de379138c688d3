package resilient_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// patient retries after 20 s, or when a server says so, within a minute.
func patient(by resilient.RoutingOption, endpoints ...resilient.Endpoint) resilient.Builder {
	return spread(by, endpoints...).Retry(resilient.MaxRetries(5), every(20*time.Second), resilient.MaxRetryAfter(time.Minute))
}

// An endpoint that says when to come again is left alone until then, whoever calls. The retry goes to another at once.
func TestThrottledEndpointIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]httptestx.Step{
		"429":               httptestx.Status(429, "Retry-After", "10"),
		"503":               httptestx.Status(503, "Retry-After", "10"),
		"529":               httptestx.Status(529, "Retry-After", "10"),
		"in milliseconds":   httptestx.Status(429, "Retry-After-Ms", "10000"),
		"of Azure":          httptestx.Status(429, "X-Ms-Retry-After-Ms", "10000"),
		"as a date":         httptestx.Status(503, "Retry-After", "Sat, 01 Jan 2000 00:00:10 GMT"),
		"besides a message": httptestx.Status(429, "Retry-After", "10", "Content-Type", "application/json"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("a/").Script(httptestx.Plan(step))
				c := w.client(patient(resilient.Ordered, places("a", "b")...))
				other := w.client(patient(resilient.RoundRobin, places("c", "a")...))
				w.served(c, 1, 200)
				is.Equal(w.visited(), "a b") // another serves it
				retry := eventsOf[resilient.RetryScheduled](w)[0]
				is.Equal(retry.Delay, time.Duration(0)) // at once
				is.True(retry.RetryAfter)               // for that is what was asked for
				w.served(other, 2, 200)
				is.Equal(w.visited(), "a b c c") // who shares the endpoint knows
				skipped := eventsOf[resilient.EndpointSkipped](w)
				is.Equal(skipped, []resilient.EndpointSkipped{
					{Source: resilient.Source{Client: "orders"}, Endpoint: "a", Gate: "throttle", RetryAfter: 10 * time.Second},
				}) // and is told why
				time.Sleep(10 * time.Second)
				w.served(c, 1, 200)
				is.Equal(w.visited(), "a b c c a") // until then, and no longer
			})
		})
	}
}

// What does not say when to come again throttles nothing.
func TestEndpointIsThrottledByItsWordOnly(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]httptestx.Step{
		"429 without a time": httptestx.Status(429),
		"a time in the past": httptestx.Status(503, "Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"),
		"no time at all":     httptestx.Status(429, "Retry-After", "soon"),
		"zero":               httptestx.Status(429, "Retry-After", "0"),
		"another status":     httptestx.Status(500, "Retry-After", "10"),
		"a redirect":         httptestx.Status(302, "Retry-After", "10"),
		"a success":          httptestx.Status(202, "Retry-After", "10"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("a/").Do(step)
				c := w.client(spread(resilient.Ordered, places("a", "b")...))
				c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				for range 2 {
					_, err := w.call(c)
					is.NoErr(err)
				}
				is.Equal(w.visited(), "a a") // it is called again
			})
		})
	}
}

func TestRetryWaitsForTheEarliestIfAllAreThrottled(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.TooManyRequests(9 * time.Second))
		w.On("b/").Script(httptestx.TooManyRequests(3*time.Second), httptestx.TooManyRequests(4*time.Second))
		w.On("c/").Do(httptestx.TooManyRequests(time.Hour)...)
		start := time.Now()
		w.served(w.client(patient(resilient.Ordered, places("a", "b", "c")...)), 1, 200)
		is.Equal(w.visited(), "a b c b b")                                                      // b comes back twice before a
		is.Equal(w.arrivals(start), []time.Duration{0, 0, 0, 3 * time.Second, 7 * time.Second}) // exactly then
		var delays []time.Duration
		for _, e := range eventsOf[resilient.RetryScheduled](w) {
			delays = append(delays, e.Delay)
		}
		is.Equal(delays, []time.Duration{0, 0, 3 * time.Second, 4 * time.Second}) // and this is told
	})
}

func TestRetryIsDeniedIfAllAreThrottledForTooLong(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.TooManyRequests(90 * time.Second)...)
		w.On("b/").Do(httptestx.Status(503, "Retry-After", "61"))
		start := time.Now()
		w.served(w.client(patient(resilient.Ordered, places("a", "b")...)), 1, 503)
		is.Equal(w.visited(), "a b")
		is.Equal(w.denials(), []string{"retry_after"}) // 61 s are more than a minute
		is.Equal(time.Since(start), time.Duration(0))  // nobody waits
	})
}

// The total timeout bounds the wait as well.
func TestRetryIsDeniedIfAllAreThrottledPastTheTotalTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.TooManyRequests(30 * time.Second)...)
		w.served(w.client(patient(resilient.Ordered, places("a", "b")...).Timeout(resilient.Total(30*time.Second))), 1, 429)
		is.Equal(w.visited(), "a b")
		is.Equal(w.denials(), []string{"deadline"}) // at the end there is no time left
	})
}

func TestCallFailsAtOnceIfAllAreThrottled(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.TooManyRequests(30 * time.Second)...)
		w.On("b/").Do(httptestx.TooManyRequests(20 * time.Second)...)
		c := w.client(spread(resilient.RoundRobin, places("a", "b")...))
		w.served(c, 2, 429) // without retries the caller gets it
		time.Sleep(500 * time.Millisecond)
		_, err := w.call(c)
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": no endpoint is available, retry after 19.5s: `+
			`a: asked to be left alone for 29.5s; b: asked to be left alone for 19.5s`)
		is.True(errors.Is(err, resilient.ErrNoEndpoint))            // this it is
		is.True(!errors.Is(err, resilient.ErrCircuitOpen))          // no circuit
		is.True(!errors.Is(err, resilient.ErrRateLimited))          // nor one of our own limits
		is.Equal(rejection(err).Gate, "endpoints")                  // by this gate
		is.Equal(rejection(err).RetryAfter, 19500*time.Millisecond) // the earliest
		is.Equal(w.visited(), "a b")                                // nothing was sent
	})
}

// Of several answers the longest counts, in whatever order they come in.
func TestThrottleIsNotShortened(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/slow").Do(httptestx.Delay(5*time.Second), httptestx.Status(429, "Retry-After", "1"))
		w.On("a/").Script(httptestx.TooManyRequests(30 * time.Second))
		c := w.client(spread(resilient.Ordered, places("a", "b")...))
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := c.Get("http://nowhere.test/slow")
			is.NoErr(err)
			read(w.T, resp)
		}()
		time.Sleep(time.Second)
		w.served(c, 1, 429)
		<-done
		time.Sleep(26*time.Second - 1)
		w.served(c, 1, 200)
		time.Sleep(time.Nanosecond)
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a a b a") // b until 31 s
	})
}

// rejection is the RejectedError in err, or the zero error if there is none.
func rejection(err error) *resilient.RejectedError {
	var rejected *resilient.RejectedError
	if errors.As(err, &rejected) {
		return rejected
	}
	return &resilient.RejectedError{}
}
