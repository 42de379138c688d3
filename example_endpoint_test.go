package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
)

// where prints where each attempt went.
func where(_ context.Context, e resilient.Event) {
	switch e := e.(type) {
	case resilient.AttemptDone:
		fmt.Println(e.Endpoint, e.Response.StatusCode)
	case resilient.EndpointSkipped:
		fmt.Println(e.Endpoint, "skipped by", e.Gate, "for", e.RetryAfter)
	}
}

// One deployment asks to be left alone. The retry goes to the other one at once, and so does the next call.
func ExampleBuilder_Endpoints() {
	client := resilient.New("model").
		Endpoints(resilient.Ordered,
			resilient.Endpoint{Name: "east", URL: "http://east.example", Header: http.Header{"Api-Key": {"key of east"}}},
			resilient.Endpoint{Name: "west", URL: "http://west.example/v2", Header: http.Header{"Api-Key": {"key of west"}}}).
		Retry(resilient.Backoff(0, 0)).
		Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "east.example" {
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody}, nil
			}
			fmt.Println(r.URL, r.Header.Get("Api-Key"))
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})).
		Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).Observe(where).
		MustBuild()
	show(client.Get("http://model.example/chat"))
	show(client.Get("http://model.example/chat"))
	// Output:
	// east 429
	// http://west.example/v2/chat key of west
	// west 200
	// 200
	// east skipped by throttle for 30s
	// http://west.example/v2/chat key of west
	// west 200
	// 200
}

// Three calls of four begin at the large one, well mixed.
func ExampleWeighted() {
	client := resilient.New("search").
		Endpoints(resilient.Weighted,
			resilient.Endpoint{Name: "large", URL: "http://a.example", Weight: 3},
			resilient.Endpoint{Name: "small", URL: "http://b.example", Weight: 1}).
		Transport(scripted(200)).Registry(resilient.NewRegistry()).Observe(where).
		MustBuild()
	for range 4 {
		_, _ = client.Get("http://search.example/")
	}
	// Output:
	// large 200
	// large 200
	// small 200
	// large 200
}

// A conversation stays where it began.
func ExampleRouting_StickyBy() {
	conversation := func(r *http.Request) string { return r.Header.Get("Conversation") }
	client := resilient.New("model").
		Endpoints(resilient.RoundRobin.StickyBy(conversation),
			resilient.Endpoint{Name: "east", URL: "http://east.example"}, resilient.Endpoint{Name: "west", URL: "http://west.example"}).
		Transport(scripted(200)).Registry(resilient.NewRegistry()).Observe(where).
		MustBuild()
	for _, name := range []string{"one", "two", "one", "one"} {
		r, _ := http.NewRequest("GET", "http://model.example/", nil)
		r.Header.Set("Conversation", name)
		_, _ = client.Do(r)
	}
	// Output:
	// east 200
	// west 200
	// east 200
	// east 200
}

// When none is left the call fails at once, and the error says why.
func ExampleErrNoEndpoint() {
	client := resilient.New("model").Retry(resilient.Off).
		Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute)).
		Endpoints(resilient.Ordered, resilient.Endpoint{URL: "http://east.example"}).
		Transport(scripted(500)).Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).
		MustBuild()
	for range 2 {
		show(client.Get("http://model.example/"))
	}
	_, err := client.Get("http://model.example/")
	fmt.Println(errors.Is(err, resilient.ErrNoEndpoint), errors.Is(err, resilient.ErrCircuitOpen))
	// Output:
	// 500
	// 500
	// true true
}
