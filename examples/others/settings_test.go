package others_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/hashicorp/go-retryablehttp"
)

// retryableWith is retryable with a setting changed.
func retryableWith(change func(*retryablehttp.Client)) client {
	return func(base http.RoundTripper) *http.Client {
		c := retryable(base)
		change(c.Transport.(*retryablehttp.RoundTripper).Client)
		return c
	}
}

// failsafeWith is failsafe with a setting changed.
func failsafeWith(change func(retrypolicy.Builder[*http.Response]) retrypolicy.Builder[*http.Response]) client {
	return func(base http.RoundTripper) *http.Client {
		policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(10*time.Millisecond, 20*time.Millisecond).WithMaxRetries(3)
		return &http.Client{Transport: failsafehttp.NewRoundTripper(base, change(policy).Build())}
	}
}

// To be fair: what the others do if they are told.
func TestWhatTheOthersCanBeTold(t *testing.T) {
	type builder = retrypolicy.Builder[*http.Response]
	for _, tt := range []struct {
		setting  string
		client   client
		question func(context.Context, subject) string
		want     string
	}{
		{"go-retryablehttp: PassthroughErrorHandler", retryableWith(func(c *retryablehttp.Client) {
			c.ErrorHandler = retryablehttp.PassthroughErrorHandler
		}), lastAnswer, "503 out of stock"},
		{"go-retryablehttp: CheckRetry", retryableWith(func(c *retryablehttp.Client) {
			c.CheckRetry = func(context.Context, *http.Response, error) (bool, error) { return false, nil }
		}), lostAnswer, "error; taken once"},
		{"go-retryablehttp: HTTPClient.Timeout", retryableWithTimeout, silence, "error after 4s"},
		{"failsafe-go: ReturnLastFailure", failsafeWith(builder.ReturnLastFailure), lastAnswer, "503 out of stock"},
		{"failsafe-go: WithJitterFactor", failsafeWith(func(b builder) builder { return b.WithJitterFactor(0.5) }), comeBack, "spread out"},
		{"failsafe-go: a circuit breaker", func(base http.RoundTripper) *http.Client {
			breaker := circuitbreaker.NewBuilder[*http.Response]().HandleIf(func(resp *http.Response, err error) bool {
				return err != nil || resp.StatusCode >= 500
			}).WithFailureThreshold(5).WithDelay(time.Minute).Build()
			return &http.Client{Transport: failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().Build(), breaker)}
		}, down, "5 requests for 100 calls"},
		{"failsafe-go: a timeout", failsafeWithTimeout, silence, "error after 4s"},
	} {
		t.Run(tt.setting, func(t *testing.T) { answer(t, tt.client, tt.want, tt.question) })
	}
}
