package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// scripted is a transport that answers with one status after another.
func scripted(statuses ...int) http.RoundTripper {
	n := 0
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		status := statuses[min(n, len(statuses)-1)]
		n++
		return &http.Response{StatusCode: status, Body: http.NoBody}, nil
	})
}

func ExampleNew() {
	client, err := resilient.New("inventory").
		Defaults(resilient.Conservative).
		Retry(resilient.Backoff(time.Millisecond, time.Millisecond)).
		Transport(scripted(503, 200)). // a dependency that fails once
		Registry(resilient.NewRegistry()).
		Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Get("http://inventory.example/items")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output: 200
}

func ExampleBuilder_Build() {
	_, err := resilient.New("inventory").
		Timeout(resilient.Total(5*time.Second), resilient.PerAttempt(8*time.Second)).
		Retry(resilient.MaxRetries(-1)).
		Build()
	fmt.Println(err)
	var config *resilient.ConfigError
	fmt.Println(errors.As(err, &config))
	// Output:
	// resilient: client "inventory": Timeout(PerAttempt(8s)): must not exceed Timeout(Total(5s)); shorten the attempt or give the call more time
	// resilient: client "inventory": Retry(MaxRetries(-1)): must be 0 or more; 0, or Retry(Off), is for none
	// true
}

// One base for all clients, each with what is its own.
func ExampleBuilder_Defaults() {
	base := resilient.New("base").Defaults(resilient.Conservative).Timeout(resilient.Total(10 * time.Second))
	orders := resilient.New("orders").Defaults(base).Retry(resilient.Off)
	prices := resilient.New("prices").Defaults(base).Retry(resilient.MaxRetries(2))
	fmt.Println(orders.Config().Timeout.Total, orders.Config().Retry.MaxRetries)
	fmt.Println(prices.Config().Timeout.Total, prices.Config().Retry.MaxRetries)
	// Output:
	// 10s 0
	// 10s 2
}

// Why was it not retried?
func ExampleBuilder_Observe() {
	client := resilient.New("orders").
		Defaults(resilient.Conservative).
		Transport(scripted(502)).
		Registry(resilient.NewRegistry()).
		Observe(func(_ context.Context, e resilient.Event) {
			switch e := e.(type) {
			case resilient.AttemptDone:
				fmt.Println("attempt", e.Number, e.Response.StatusCode, e.Conclusion)
			case resilient.RetryDenied:
				fmt.Println("no retry:", e.Reason)
			}
		}).
		MustBuild()
	resp, err := client.Post("http://orders.example/", "application/json", strings.NewReader("{}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	// Output:
	// attempt 1 502 unknown
	// no retry: ambiguous
}

func ExampleRegistry_Snapshot() {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(2)).
		Retry(resilient.Off).
		Transport(scripted(500)).
		Registry(registry).
		MustBuild()
	for range 3 {
		resp, err := client.Get("http://inventory.example/")
		if err != nil {
			fmt.Println(errors.Is(err, resilient.ErrCircuitOpen))
			continue
		}
		_ = resp.Body.Close()
	}
	state := registry.Snapshot()[0]
	fmt.Println(state.Client, state.Breaker.State, state.Breaker.Failures, state.Rejected["circuit_breaker"])
	// Output:
	// true
	// inventory open 2 1
}

// A document changes what it mentions, and is strict about the rest.
func ExampleBuilder_JSON() {
	b := resilient.New("catalog").Defaults(resilient.Conservative)
	fmt.Println(b.JSON([]byte(`{"retry": {"maxRetries": 2}}`)).Config().Retry.MaxRetries)
	_, err := b.JSON([]byte(`{"retry": {"maxRetry": 2}}`)).Build()
	problem, _, _ := strings.Cut(err.Error(), ";") // what follows lists the settings that there are
	fmt.Println(problem)
	// Output:
	// 2
	// resilient: client "catalog": JSON(retry.maxRetry): line 1: there is no such setting
}

// A report says why a call came to what it did.
func ExampleWithReport() {
	client := resilient.New("inventory").
		Defaults(resilient.None).
		Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Transport(scripted(503, 429)).
		Registry(resilient.NewRegistry()).
		MustBuild()
	ctx, report := resilient.WithReport(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://inventory.example/items", nil)
	resp, err := client.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	line, _, _ := strings.Cut(report.String(), ", done in ")
	fmt.Println(line)
	fmt.Println(report.Attempts(), report.Ended())
	// Output:
	// inventory: 503, retry in 0s, inventory: 429, no retry: attempts
	// 2 attempts
}
