package resilient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
)

// show prints what became of a call.
func show(resp *http.Response, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode)
}

// narrate prints how a call went on after each attempt that failed.
func narrate(_ context.Context, e resilient.Event) {
	switch e := e.(type) {
	case resilient.RetryScheduled:
		fmt.Println("retry in", e.Delay)
	case resilient.RetryDenied:
		fmt.Println("no retry:", e.Reason)
	}
}

// Which methods, how often, and after what waits.
func ExampleBuilder_Retry() {
	client := resilient.New("inventory").
		Retry(resilient.MaxRetries(2), resilient.Backoff(time.Millisecond, 2*time.Millisecond), resilient.NoJitter,
			resilient.ExceptMethods("POST")).
		Transport(scripted(503, 503, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	show(client.Get("http://inventory.example/items"))
	// Output:
	// retry in 1ms
	// retry in 2ms
	// 200
}

// The jitter is an option as it stands.
func ExampleJitter() {
	c := resilient.New("inventory").Retry(resilient.FullJitter).Config()
	fmt.Println(c.Retry.Jitter, resilient.Standard.Config().Retry.Jitter == resilient.Decorrelated)
	// Output: FullJitter true
}

// Any backoff of github.com/cenkalti/backoff will do.
func ExampleBackoffFunc() {
	client := resilient.New("inventory").
		Retry(resilient.BackoffFunc(func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) })).
		Transport(scripted(503, 502, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	show(client.Get("http://inventory.example/items"))
	// Output:
	// retry in 1ms
	// retry in 1ms
	// 200
}

// A 404 that passes: the item is on its way.
func ExampleRetryIf() {
	client := resilient.New("inventory").
		Retry(resilient.Backoff(0, 0), resilient.RetryIf(func(a resilient.Attempt) bool {
			return a.Transient || a.Response != nil && a.Response.StatusCode == http.StatusNotFound
		})).
		Transport(scripted(404, 200)).Registry(resilient.NewRegistry()).
		MustBuild()
	show(client.Get("http://inventory.example/items/1"))
	// Output: 200
}

// POST, PUT, PATCH, DELETE and CONNECT are sent once.
func ExampleSafeMethodsOnly() {
	client := resilient.New("orders").Retry(resilient.SafeMethodsOnly).
		Transport(scripted(503)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	show(client.Post("http://orders.example/", "text/plain", strings.NewReader("one book")))
	// Output:
	// no retry: method
	// 503
}

// The other way round: only what is named is retried.
func ExampleRetryMethods() {
	c := resilient.New("search").Retry(resilient.RetryMethods("GET", "QUERY")).Config()
	fmt.Println(c.Retry.Methods)
	// Output: [GET QUERY]
}

// A server that asks for more patience than there is gets no retry, and the caller its answer at once.
func ExampleMaxRetryAfter() {
	busy := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {"3600"}}, Body: http.NoBody}, nil
	})
	client := resilient.New("inventory").
		Retry(resilient.RetryAfter(true), resilient.MaxRetryAfter(10*time.Second)).
		Transport(busy).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	show(client.Get("http://inventory.example/items"))
	// Output:
	// no retry: retry_after
	// 503
}

// A body that can't be had again is kept up to a limit. This one is longer, so it is sent once.
func ExampleBufferLimit() {
	client := resilient.New("uploads").Retry(resilient.BufferLimit(4)).
		Transport(scripted(503)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	film := io.MultiReader(strings.NewReader("a long "), strings.NewReader("film")) // of which net/http can't have another
	r, _ := http.NewRequest("PUT", "http://uploads.example/film", film)
	show(client.Do(r))
	// Output:
	// no retry: body
	// 503
}

// An account without money answers 429 as well. No wait mends that.
func ExampleReadCauses() {
	spent := roundTripper(func(*http.Request) (*http.Response, error) {
		body := `{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}`
		return &http.Response{StatusCode: 429, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	client := resilient.New("model").Retry(resilient.ReadCauses(true), resilient.Backoff(0, 0)).
		Transport(spent).Registry(resilient.NewRegistry()).
		Observe(func(_ context.Context, e resilient.Event) {
			if e, ok := e.(resilient.RetryDenied); ok {
				fmt.Println(e.Reason, e.Failed.Cause)
			}
		}).
		MustBuild()
	show(client.Get("http://model.example/"))
	// Output:
	// final money
	// 429
}

// A caller who would rather have an answer at once than a better one later.
func ExampleWithoutRetries() {
	client := resilient.New("inventory").
		Transport(scripted(503, 200)).Registry(resilient.NewRegistry()).Observe(narrate).
		MustBuild()
	ctx := resilient.WithoutRetries(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://inventory.example/items", nil)
	show(client.Do(r))
	// Output:
	// no retry: disabled
	// 503
}

// The second retry is one more than a tenth of two calls.
func ExampleBuilder_Budget() {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").
		Retry(resilient.Backoff(0, 0)).
		Budget(resilient.RetryRatio(0.1), resilient.SamplingDuration(30*time.Second), resilient.LowVolumeRetries(1)).
		Transport(scripted(503)).Registry(registry).Observe(narrate).
		MustBuild()
	show(client.Get("http://inventory.example/items"))
	budget := registry.Snapshot()[0].Budget
	fmt.Println(budget.Requests, budget.Retries, budget.Phase)
	// Output:
	// retry in 0s
	// no retry: budget_exhausted
	// 503
	// 1 1 exhausted
}

// Two clients of one backend draw on one budget.
func ExampleBudgetName() {
	registry := resilient.NewRegistry()
	base := resilient.New("").Defaults(resilient.Conservative).Budget(resilient.BudgetName("warehouse"), resilient.MinimumThroughput(1))
	reads := resilient.New("warehouse reads").Defaults(base).Transport(scripted(200)).Registry(registry).MustBuild()
	writes := resilient.New("warehouse writes").Defaults(base).Transport(scripted(200)).Registry(registry).MustBuild()
	show(reads.Get("http://warehouse.example/"))
	show(writes.Get("http://warehouse.example/"))
	for _, s := range registry.Snapshot() {
		fmt.Println(s.Client, s.Budget.Requests)
	}
	// Output:
	// 200
	// 200
	// warehouse reads 2
	// warehouse writes 2
}
