package contender

import (
	"net/http"

	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// failsafeTransport has every policy that there is a counterpart of, in the same order. Its budget counts what is in
// flight: it has no window.
func failsafeTransport(base http.RoundTripper) http.RoundTripper {
	retry := failsafehttp.NewRetryPolicyBuilder().
		WithMaxRetries(retries).
		WithBackoff(backoffs, 10*backoffs).
		WithBudget(budget.NewBuilder().WithMaxRate(ratio).Build()).
		Build()
	breaker := circuitbreaker.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, err error) bool { return err != nil || resp.StatusCode >= 500 }).
		WithFailureRateThreshold(failures, minimum, sampling).
		WithDelay(pause).
		Build()
	return failsafehttp.NewRoundTripper(base,
		timeout.New[*http.Response](total),
		bulkhead.New[*http.Response](permits),
		retry,
		breaker,
		timeout.New[*http.Response](attempt),
	)
}
