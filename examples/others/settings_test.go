package others_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/hashicorp/go-retryablehttp"
)

// retryableWith is retryable with a setting changed.
func retryableWith(change func(*retryablehttp.Client)) func(http.RoundTripper) *http.Client {
	return func(base http.RoundTripper) *http.Client {
		c := retryable(base, 0)
		change(c.Transport.(*retryablehttp.RoundTripper).Client)
		return c
	}
}

// failsafeWith is failsafe with a setting changed.
func failsafeWith(change func(retrypolicy.Builder[*http.Response]) retrypolicy.Builder[*http.Response]) func(http.RoundTripper) *http.Client {
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
		client   func(http.RoundTripper) *http.Client
		question func(context.Context, subject) string
		want     string
	}{
		{"go-retryablehttp: PassthroughErrorHandler", retryableWith(func(c *retryablehttp.Client) {
			c.ErrorHandler = retryablehttp.PassthroughErrorHandler
		}), lastAnswer, "503 out of stock"},
		{"go-retryablehttp: CheckRetry", retryableWith(func(c *retryablehttp.Client) {
			c.CheckRetry = func(context.Context, *http.Response, error) (bool, error) { return false, nil }
		}), lostAnswer, "error; taken once"},
		{"go-retryablehttp: HTTPClient.Timeout", func(base http.RoundTripper) *http.Client {
			return retryable(base, 10*time.Second)
		}, silence, "error after 40s"},
		{"failsafe-go: ReturnLastFailure", failsafeWith(builder.ReturnLastFailure), lastAnswer, "503 out of stock"},
		{"failsafe-go: WithJitterFactor", failsafeWith(func(b builder) builder { return b.WithJitterFactor(0.5) }), comeBack, "spread out"},
		{"failsafe-go: a circuit breaker", func(base http.RoundTripper) *http.Client {
			breaker := circuitbreaker.NewBuilder[*http.Response]().HandleIf(func(resp *http.Response, err error) bool {
				return err != nil || resp.StatusCode >= 500
			}).WithFailureThreshold(5).WithDelay(time.Minute).Build()
			return &http.Client{Transport: failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().Build(), breaker)}
		}, down, "5 requests for 100 calls"},
		{"failsafe-go: a timeout", func(base http.RoundTripper) *http.Client {
			return &http.Client{Transport: failsafehttp.NewRoundTripper(base, timeout.New[*http.Response](10*time.Second))}
		}, silence, "error after 10s"},
	} {
		t.Run(tt.setting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := httptestx.NewServer(t, shop())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if got := tt.question(ctx, subject{t, s, tt.client(s.Client().Transport)}); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
			})
		})
	}
}
