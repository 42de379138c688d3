package resilient_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/a-seed-e0941262/resilient"
)

// A POST whose answer was lost may have been processed, so it is not repeated. A PUT may be.
func ExampleBuilder_Idempotency() {
	client := resilient.New("orders").
		Idempotency(resilient.UnprocessedOnly).Retry(resilient.Backoff(0, 0)).
		Transport(scripted(502, 502, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	for _, method := range []string{"POST", "PUT"} {
		r, _ := http.NewRequest(method, "http://orders.example/7", strings.NewReader("one book"))
		show(client.Do(r))
	}
	// Output:
	// no retry: ambiguous
	// 502
	// retry in 0s
	// 200
}

// Every POST gets a key, the same for each of its attempts. The server has to know what to do with it.
func ExampleGenerateKeys() {
	keys := map[string]int{}
	client := resilient.New("orders").
		Idempotency(resilient.UnprocessedOnly, resilient.GenerateKeys).Retry(resilient.Backoff(0, 0)).
		Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			keys[r.Header.Get("Idempotency-Key")]++
			return &http.Response{StatusCode: 502, Body: http.NoBody}, nil
		})).
		Registry(resilient.NewRegistry()).
		MustBuild()
	show(client.Post("http://orders.example/", "text/plain", nil))
	for key, sent := range keys {
		fmt.Println(len(key), sent)
	}
	// Output:
	// 502
	// 36 4
}

// This server says 502 before it has done anything.
func ExampleAmbiguousStatuses() {
	client := resilient.New("orders").
		Idempotency(resilient.AmbiguousStatuses(500, 504)).Retry(resilient.Backoff(0, 0)).
		Transport(scripted(502, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	show(client.Post("http://orders.example/", "text/plain", nil))
	// Output:
	// retry in 0s
	// 200
}

// A POST that only reads may be repeated.
func ExampleReplayable() {
	client := resilient.New("search").Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0)).
		Transport(scripted(502, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	ctx := resilient.Replayable(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "POST", "http://search.example/", strings.NewReader(`{"query": "books"}`))
	show(client.Do(r))
	// Output:
	// retry in 0s
	// 200
}

// What is known of an attempt's effects on the server.
func ExampleConclusion() {
	meaning := map[resilient.Conclusion]string{
		resilient.Processed:   "the server answered for it",
		resilient.Unprocessed: "the server has certainly not acted",
		resilient.Unknown:     "nobody knows",
	}
	for _, status := range []int{200, 404, 503, 502} {
		client := resilient.New("orders").Defaults(resilient.None).
			Transport(scripted(status)).Registry(resilient.NewRegistry()).
			Observe(func(_ context.Context, e resilient.Event) {
				if e, ok := e.(resilient.AttemptDone); ok {
					fmt.Printf("%d is %v: %s\n", status, e.Conclusion, meaning[e.Conclusion])
				}
			}).
			MustBuild()
		_, _ = client.Get("http://orders.example/")
	}
	// Output:
	// 200 is processed: the server answered for it
	// 404 is processed: the server answered for it
	// 503 is unprocessed: the server has certainly not acted
	// 502 is unknown: nobody knows
}
