package resilient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// All that makes a client resilient is in its transport, for those who take no more.
func ExampleBuilder_BuildTransport() {
	transport, err := resilient.New("inventory").Retry(resilient.Backoff(0, 0)).
		Transport(scripted(503, 200)).Registry(resilient.NewRegistry()).
		BuildTransport()
	if err != nil {
		fmt.Println(err)
		return
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	show(client.Get("http://inventory.example/"))
	// Output: 200
}

// The cookie jar, CheckRedirect and the transport of a client that exists are kept.
func ExampleBuilder_Client() {
	existing := &http.Client{Transport: scripted(503, 200), Timeout: 10 * time.Second}
	client := resilient.New("inventory").Client(existing).Retry(resilient.Backoff(0, 0)).Registry(resilient.NewRegistry()).MustBuild()
	show(client.Get("http://inventory.example/"))
	fmt.Println(existing.Timeout) // it is not changed
	// Output:
	// 200
	// 10s
}

// Each host has its own state: the one that fails does not open the circuit to the other.
func ExampleBuilder_PerAuthority() {
	registry := resilient.NewRegistry()
	client := resilient.New("default").PerAuthority().Retry(resilient.Off).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(2)).
		Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			status := map[string]int{"good.example": 200, "bad.example": 500}[r.URL.Host]
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		})).
		Registry(registry).MustBuild()
	for range 2 {
		show(client.Get("http://good.example/"))
		show(client.Get("http://bad.example/"))
	}
	for _, s := range registry.Snapshot() {
		fmt.Println(s.Authority, s.Breaker.State)
	}
	// Output:
	// 200
	// 500
	// 200
	// 500
	// http://bad.example:80 open
	// http://good.example:80 closed
}

// What a preset has is there to be printed, compared and taken apart.
func ExamplePreset() {
	for _, p := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
		c := p.Config()
		fmt.Printf("%v: %d retries, budget %v, total %v\n", p, c.Retry.MaxRetries, c.Budget.RetryRatio, c.Timeout.Total)
	}
	// Output:
	// None: 0 retries, budget 0, total 0s
	// Standard: 3 retries, budget 0, total 30s
	// Conservative: 1 retries, budget 0.1, total 30s
	// AI: 5 retries, budget 0.2, total 3m0s
}

// A Config is read from JSON and written to it.
func ExampleConfig() {
	c := resilient.None.Config()
	err := json.Unmarshal([]byte(`{"timeout": {"total": "20s"}, "concurrency": {"permits": 100, "queue": 10}}`), &c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Timeout.Total, c.Concurrency.Permits)
	document, _ := json.Marshal(c)
	fmt.Println(string(document))
	// Output:
	// 20s 100
	// {"timeout":{"total":"20s","perAttempt":"0s","bodyIdle":"0s","totalIncludesBody":false},"concurrency":{"permits":100,"queue":10},"retry":"off","budget":"off","rateLimit":"off","endpoints":"off","breaker":"off","idempotency":"off","perAuthority":false,"rejectAsResponse":false}
}

// Off switches a strategy off.
func ExampleOff() {
	c := resilient.New("payments").Defaults(resilient.Conservative).Retry(resilient.Off).Budget(resilient.Off).Config()
	fmt.Println(c.Retry.MaxRetries, c.Budget == resilient.BudgetPolicy{})
	// Output: 0 true
}

// Each violation is found by itself, and has its parts.
func ExampleConfigError() {
	_, err := resilient.New("inventory").Breaker(resilient.FailureRatio(1.5)).Build()
	var wrong *resilient.ConfigError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Client, "/", wrong.Setting, "/", wrong.Value, "/", wrong.Rule)
	}
	// Output: inventory / Breaker(FailureRatio(1.5)) / 1.5 / must be 0 to 1
}
