package main

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/hashicorp/go-retryablehttp"
)

// bare is what the standard library offers: a timeout.
func bare(base http.RoundTripper, _ *rand.Rand) sender {
	return (&http.Client{Transport: base, Timeout: attemptTimeout}).Do
}

// naive is what people write around it: up to three retries, at once.
func naive(base http.RoundTripper, chance *rand.Rand) sender {
	send := bare(base, chance)
	return func(r *http.Request) (*http.Response, error) {
		for retries := 0; ; retries++ {
			resp, err := send(r)
			if err == nil && resp.StatusCode < 500 || retries == 3 {
				return resp, err
			}
			if err == nil {
				resp.Body.Close()
			}
		}
	}
}

// failsafe is failsafe-go's retry policy for HTTP with a budget, by default 20 % of what is under way, and 3.
func failsafe(base http.RoundTripper, _ *rand.Rand) sender {
	retries := failsafehttp.NewRetryPolicyBuilder().
		WithBackoff(time.Second, 30*time.Second).
		WithMaxRetries(3).
		WithBudget(budget.New()).
		Build()
	attempt := timeout.New[*http.Response](attemptTimeout)
	return (&http.Client{Transport: failsafehttp.NewRoundTripper(base, retries, attempt)}).Do
}

// retryable is go-retryablehttp as it comes: up to four retries, after 1, 2, 4 and 8 seconds.
func retryable(base http.RoundTripper, _ *rand.Rand) sender {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base, Timeout: attemptTimeout}
	c.Logger = nil
	return c.StandardClient().Do
}
