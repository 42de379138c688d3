package resilient_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// places are endpoints that are called by their host. The world's server plays them all.
func places(names ...string) []resilient.Endpoint {
	var all []resilient.Endpoint
	for _, name := range names {
		all = append(all, resilient.Endpoint{URL: "http://" + name})
	}
	return all
}

// weighted are places with weights.
func weighted(weights map[string]int, names ...string) []resilient.Endpoint {
	all := places(names...)
	for i, name := range names {
		all[i].Weight = weights[name]
	}
	return all
}

// spread is a client that does nothing but to spread its calls.
func spread(by resilient.RoutingOption, endpoints ...resilient.Endpoint) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).Endpoints(by, endpoints...)
}

// call sends an order to nowhere: the endpoints say where it goes.
func (w *world) call(c *http.Client) (int, error) {
	w.Helper()
	return w.callWith(w.Context(), c)
}

func (w *world) callWith(ctx context.Context, c *http.Client) (int, error) {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://nowhere.test/", strings.NewReader("order"))
	if err != nil {
		w.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	read(w.T, resp)
	return resp.StatusCode, nil
}

// served makes calls that must be answered with the status.
func (w *world) served(c *http.Client, n, status int) {
	w.Helper()
	for range n {
		if got, err := w.call(c); err != nil || got != status {
			w.Errorf("got %d and error %v, want %d", got, err, status)
		}
	}
}

// visited are the hosts at which requests have arrived, in order.
func (w *world) visited() string {
	var all []string
	for _, e := range w.Exchanges() {
		all = append(all, e.Host)
	}
	return strings.Join(all, " ")
}

// A crowd counts by host, without a network, who is called.
type crowd struct {
	mu    sync.Mutex
	calls map[string]int
}

func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[r.URL.Host]++
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: 200}, nil
}

// rush makes n calls by each of 64 goroutines.
func rush(w *world, c *http.Client, n int) {
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range n {
				if _, err := w.call(c); err != nil {
					w.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestRoundRobinTakesTurns(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.served(w.client(spread(resilient.RoundRobin, places("a", "b", "c")...)), 7, 200)
		is.Equal(w.visited(), "a b c a b c a") // one after the other
	})
}

func TestRoundRobinIsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		base := &crowd{}
		rush(w, w.over(base, spread(resilient.RoundRobin, places("a", "b", "c")...)), 30)
		is.Equal(base.calls, map[string]int{"a": 640, "b": 640, "c": 640}) // none has one more
	})
}

func TestWeightedIsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		base := &crowd{}
		rush(w, w.over(base, spread(resilient.Weighted, weighted(map[string]int{"a": 500, "b": 100, "c": 100}, "a", "b", "c")...)), 28)
		is.Equal(base.calls, map[string]int{"a": 1280, "b": 256, "c": 256}) // five, one and one of seven
	})
}

func TestWeightedMixes(t *testing.T) {
	t.Parallel()
	for want, weights := range map[string]map[string]int{
		"a b a b a b":         {"a": 1, "b": 1},
		"a b a b a a":         {"a": 3, "b": 2},                    // and again from the start
		"b a b b a b":         {"a": 500, "b": 1000},               // 1 and 2
		"b b b a b b b b":     {"a": 1, "b": 7},                    // the rare one in the middle
		"a a b a c a a a":     {"a": 5, "b": 1, "c": 1},            // never five in a row
		"a b c d a b c d":     {"a": 9, "b": 9, "c": 9, "d": 9},    // as RoundRobin
		"d c b d a c d b c d": {"a": 1, "b": 2, "c": 3, "d": 4},    // a whole round
		"a a a a a a a a":     {"a": 1000, "b": 1, "c": 1, "d": 1}, // for long
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				names := []string{"a", "b", "c", "d"}[:len(weights)]
				w.served(w.client(spread(resilient.Weighted, weighted(weights, names...)...)), len(strings.Fields(want)), 200)
				is.Equal(w.visited(), want)
			})
		})
	}
}

func TestOrderedBeginsWithTheFirst(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.served(w.client(spread(resilient.Ordered, places("a", "b")...)), 3, 200)
		is.Equal(w.visited(), "a a a") // as long as it can
	})
}

func TestOrderedSpillsOverAndComesBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Script(httptestx.TooManyRequests(10 * time.Second))
		c := w.client(spread(resilient.Ordered, places("a", "b")...).Retry(resilient.MaxRetries(1), every(time.Minute)))
		start := time.Now()
		w.served(c, 2, 200)
		is.Equal(w.visited(), "a b b")                // spilled at once
		is.Equal(time.Since(start), time.Duration(0)) // without a wait
		time.Sleep(10*time.Second - 1)
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a b b b") // a nanosecond too early
		time.Sleep(time.Nanosecond)
		w.served(c, 1, 200)
		is.Equal(w.visited(), "a b b b a") // it is over
	})
}

// Each call begins with its own turn, and its retries go on from there.
func TestRetryPrefersAnotherEndpoint(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, want string
		builder    resilient.Builder
	}{
		{"round robin", "a b c b c a", spread(resilient.RoundRobin, places("a", "b", "c")...)},
		{"ordered", "a b c a b c", spread(resilient.Ordered, places("a", "b", "c")...)},
		{"weighted", "a b c b c a", spread(resilient.Weighted, weighted(map[string]int{"a": 2, "b": 1, "c": 1}, "a", "b", "c")...)}, // turns a b c a
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(500, ""), func(w *world) {
				is := is.New(w.T)
				c := w.client(row.builder.Retry(resilient.MaxRetries(2), every(time.Second)))
				start := time.Now()
				w.served(c, 1, 500)
				is.Equal(time.Since(start), 2*time.Second) // its waits are as without endpoints
				w.served(c, 1, 500)
				is.Equal(w.visited(), row.want) // each once before any twice, in two calls
			})
		})
	}
}

// What fails at one endpoint is made up for by another.
func TestRetryAtAnotherEndpointSucceeds(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.LostResponse...)
		w.served(w.client(spread(resilient.RoundRobin, places("a", "b")...).Retry(resilient.MaxRetries(1), every(0))), 10, 200)
		is.Equal(len(w.Exchanges()), 15) // half of the calls begin at a
	})
}

func TestEndpointsAreNamedInEvents(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		list := []resilient.Endpoint{{URL: "http://a/v1/"}, {URL: "http://b", Name: "spare"}}
		w.served(w.client(spread(resilient.Ordered, list...).Retry(resilient.MaxRetries(1), every(0))), 1, 200)
		attempts := eventsOf[resilient.AttemptDone](w)
		is.Equal(len(attempts), 2)
		is.Equal(attempts[0].Endpoint, "a/v1")                                          // host and path
		is.Equal(attempts[1].Endpoint, "spare")                                         // the given name
		is.Equal(eventsOf[resilient.RetryScheduled](w)[0].Failed.Endpoint, "a/v1")      // where it failed
		is.Equal(len(eventsOf[resilient.EndpointSkipped](w)), 0)                        // none was skipped: it was tried
		is.Equal(attempts[1].Source, resilient.Source{Client: "orders", Authority: ""}) // whose state has no authority
	})
}
