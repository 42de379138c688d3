package others_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
)

// The clients as their own documentation sets them up, but for shorter waits.

func retryable(base http.RoundTripper) *http.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax, c.Logger = 3, 10*time.Millisecond, 20*time.Millisecond, nil
	return c.StandardClient()
}

func failsafe(base http.RoundTripper) *http.Client {
	policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(10*time.Millisecond, 20*time.Millisecond).WithMaxRetries(3).Build()
	return &http.Client{Transport: failsafehttp.NewRoundTripper(base, policy)}
}

func ours(base http.RoundTripper) *http.Client {
	return resilient.New("orders").Defaults(resilient.Conservative).
		Retry(resilient.MaxRetries(3), resilient.Backoff(10*time.Millisecond, 20*time.Millisecond)).
		Transport(base).Registry(resilient.NewRegistry()).MustBuild()
}

// A shop takes an order with each POST, and says so.
func shop() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
}

// order posts one, and tells what came of it in few words.
func order(c *http.Client, url string) string {
	resp, err := c.Post(url+"/orders", "application/json", strings.NewReader(`{"book": 1}`))
	if err != nil {
		return "error"
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, body))
}
