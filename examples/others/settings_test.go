package others_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
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

// The guides for those who come from the others have two clients: one that does the same as before, and the one that is
// advised.
func TestClientsOfTheGuides(t *testing.T) {
	waits := resilient.Backoff(10*time.Millisecond, 20*time.Millisecond)
	same := resilient.New("orders").Defaults(resilient.None).Retry(resilient.MaxRetries(3), waits, resilient.NoJitter)
	advised := resilient.New("orders").Defaults(resilient.Conservative).Retry(waits)
	over := func(b resilient.Builder) client {
		return func(base http.RoundTripper) *http.Client {
			return b.Transport(base).Registry(resilient.NewRegistry()).MustBuild()
		}
	}
	for _, tt := range []struct {
		client   string
		build    client
		question func(context.Context, subject) string
		want     string
	}{
		{"go-retryablehttp", retryable, lostAnswer, "201; taken twice"},
		{"failsafe-go", failsafe, lostAnswer, "201; taken twice"},
		{"the same as before", over(same), lostAnswer, "201; taken twice"},
		{"advised", over(advised), lostAnswer, "error; taken once"},
		{"go-retryablehttp", retryable, comeBack, "all in one moment"},
		{"failsafe-go", failsafe, comeBack, "all in one moment"},
		{"the same as before", over(same), comeBack, "all in one moment"},
		{"advised", over(advised), comeBack, "spread out"},
		{"go-retryablehttp", retryable, down, "400 requests for 100 calls"},
		{"failsafe-go", failsafe, down, "400 requests for 100 calls"},
		{"the same as before", over(same), down, "400 requests for 100 calls"},
		{"the same as before", over(same), lastAnswer, "503 out of stock"},
		{"with an attempt timeout", over(same.Timeout(resilient.PerAttempt(time.Second))), silence, "error after 4s"},
	} {
		t.Run(tt.client, func(t *testing.T) { answer(t, tt.build, tt.want, tt.question) })
	}
}
