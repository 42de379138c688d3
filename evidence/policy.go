package main

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/cenkalti/backoff/v5"
)

// attemptTimeout is how long every client waits for an answer before it gives an attempt up.
const attemptTimeout = time.Second

// A sender sends a request: [http.Client.Do] is one.
type sender func(*http.Request) (*http.Response, error)

// A policy is a way to call a dependency. It makes the client of one process.
type policy struct {
	name   string
	client func(base http.RoundTripper, chance *rand.Rand) sender
}

// policies are compared in most scenarios.
func policies() []policy {
	return []policy{
		{"bare client", bare},
		{"naive retries", naive},
		{"one retry, no budget", ours(oneRetry())},
		{"one retry, with a budget", ours(oneRetry().Budget())},
		{"Standard", ours(start(resilient.Standard))},
		{"Conservative", ours(start(resilient.Conservative))},
		{"failsafe-go with its budget", failsafe},
		{"go-retryablehttp", retryable},
	}
}

func start(preset resilient.Preset) resilient.Builder {
	return resilient.New("inventory").Defaults(preset)
}

// oneRetry is what Conservative retries, without its budget and its circuit breaker.
func oneRetry() resilient.Builder {
	return start(resilient.None).Retry(resilient.MaxRetries(1))
}

// ours makes clients of this library: as they come, but for the attempt timeout that all clients have here, and with
// waits that are the same each time.
func ours(b resilient.Builder) func(http.RoundTripper, *rand.Rand) sender {
	b = b.Timeout(resilient.PerAttempt(attemptTimeout))
	retry := b.Config().Retry
	return func(base http.RoundTripper, chance *rand.Rand) sender {
		return b.Retry(resilient.BackoffFunc(delays(retry, chance))).
			Registry(resilient.NewRegistry()).
			Transport(base).
			MustBuild().Do
	}
}

// delays are those of the policy, with a chance that repeats itself.
func delays(p resilient.RetryPolicy, chance *rand.Rand) func() backoff.BackOff {
	var mu sync.Mutex
	random := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return chance.Float64()
	}
	return func() backoff.BackOff { return pipeline.Decorrelated(p.BackoffBase, p.BackoffCap, random) }
}
