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
	"github.com/jonboulle/clockwork"
)

// Half of at least two attempts failed: the third is not sent.
func ExampleBuilder_Breaker() {
	client := resilient.New("inventory").Retry(resilient.Off).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(2),
			resilient.SamplingDuration(30*time.Second), resilient.BreakDuration(5*time.Second)).
		Transport(scripted(500)).Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).
		MustBuild()
	for range 3 {
		show(client.Get("http://inventory.example/"))
	}
	// Output:
	// 500
	// 500
	// Get "http://inventory.example/": resilient: client "inventory": circuit breaker is open, retry after 5s (last failure: status 500 Internal Server Error)
}

// Each break in a row is twice as long as the one before.
func ExampleBreakDurationFunc() {
	double := resilient.BreakDurationFunc(func(b resilient.Break) time.Duration {
		return 5 * time.Second << min(b.Breaks, 5)
	})
	clock := clockwork.NewFakeClock()
	client := resilient.New("inventory").Retry(resilient.Off).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(2), double).
		Transport(scripted(500)).Clock(clock).Registry(resilient.NewRegistry()).
		Observe(func(_ context.Context, e resilient.Event) {
			if e, ok := e.(resilient.BreakerChanged); ok && e.To == "open" {
				fmt.Println(e.From, e.To, e.Break)
			}
		}).
		MustBuild()
	for range 4 {
		_, _ = client.Get("http://inventory.example/")
		clock.Advance(5 * time.Second)
	}
	// Output:
	// closed open 5s
	// half-open open 10s
}

// The breaker waits as long as the server asks for.
func ExampleBreakUntilRetryAfter() {
	c := resilient.New("model").Defaults(resilient.Conservative).Breaker(resilient.BreakUntilRetryAfter(true)).Config()
	fmt.Println(c.Breaker.BreakUntilRetryAfter)
	// Output: true
}

// A call holds its permit until its body is closed.
func ExampleBuilder_Concurrency() {
	client := resilient.New("inventory").
		Concurrency(resilient.Permits(1), resilient.Queue(0)).
		Transport(roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("items"))}, nil
		})).
		Registry(resilient.NewRegistry()).
		MustBuild()
	first, err := client.Get("http://inventory.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Get("http://inventory.example/")
	fmt.Println(errors.Is(err, resilient.ErrConcurrencyLimit))
	_ = first.Body.Close()
	show(client.Get("http://inventory.example/"))
	// Output:
	// true
	// 200
}

// Two requests a second, and three at once.
func ExampleBuilder_RateLimit() {
	client := resilient.New("geocoder").
		RateLimit(resilient.PerSecond(2), resilient.Burst(3)).
		Transport(scripted(200)).Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).
		MustBuild()
	for range 4 {
		show(client.Get("http://geocoder.example/"))
	}
	// Output:
	// 200
	// 200
	// 200
	// Get "http://geocoder.example/": resilient: client "geocoder": rate limit reached, retry after 500ms
}

// Calls to a language model cost tokens: what the request may use, and then what the answer says that it has used.
func ExampleEstimateTokens() {
	registry := resilient.NewRegistry()
	client := resilient.New("model").
		RateLimit(resilient.PerMinute(1000), resilient.Wait(10*time.Second),
			resilient.Cost(resilient.EstimateTokens), resilient.SettleUsage, resilient.HeedServer).
		Transport(roundTripper(func(*http.Request) (*http.Response, error) {
			body := io.NopCloser(strings.NewReader(`{"usage": {"prompt_tokens": 4, "completion_tokens": 16, "total_tokens": 20}}`))
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
		})).
		Clock(clockwork.NewFakeClock()).Registry(registry).
		MustBuild()
	question := `{"messages": [{"role": "user", "content": "how are you?"}], "max_tokens": 100}`
	resp, err := client.Post("http://model.example/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Snapshot()[0].RateLimit.Available < 900) // prompt and longest answer
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	fmt.Println(registry.Snapshot()[0].RateLimit.Available)
	// Output:
	// true
	// 980
}

// The caller knows the cost, and afterwards what it came to.
func ExampleSettle() {
	registry := resilient.NewRegistry()
	client := resilient.New("exports").
		RateLimit(resilient.PerMinute(1000), resilient.PerCall).
		Transport(scripted(200)).Clock(clockwork.NewFakeClock()).Registry(registry).
		MustBuild()
	ctx := resilient.WithCost(context.Background(), 400)
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://exports.example/", nil)
	show(client.Do(r))
	fmt.Println(registry.Snapshot()[0].RateLimit.Available)
	resilient.Settle(ctx, 250)
	fmt.Println(registry.Snapshot()[0].RateLimit.Available)
	// Output:
	// 200
	// 600
	// 750
}

// An SDK that knows no errors but responses gets one.
func ExampleBuilder_RejectAsResponse() {
	client := resilient.New("geocoder").
		RateLimit(resilient.PerMinute(1)).RejectAsResponse().
		Transport(scripted(200)).Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).
		MustBuild()
	show(client.Get("http://geocoder.example/"))
	resp, err := client.Get("http://geocoder.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Retry-After"))
	// Output:
	// 200
	// 429 Too Many Requests 60
}

// Which gate refused, and when to come back.
func ExampleRejectedError() {
	client := resilient.New("geocoder").
		RateLimit(resilient.PerMinute(1)).
		Transport(scripted(200)).Clock(clockwork.NewFakeClock()).Registry(resilient.NewRegistry()).
		MustBuild()
	show(client.Get("http://geocoder.example/"))
	_, err := client.Get("http://geocoder.example/")
	var rejected *resilient.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Client, rejected.Gate, rejected.RetryAfter, errors.Is(err, resilient.ErrRateLimited))
	}
	// Output:
	// 200
	// geocoder rate_limit 1m0s true
}
