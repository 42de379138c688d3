package others_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/hashicorp/go-retryablehttp"
)

// The clients as their own documentation sets them up, with three retries and, unless attempt is 0, a timeout for each
// attempt. Only the waits are shorter than by default.

func retryable(base http.RoundTripper, attempt time.Duration) *http.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base, Timeout: attempt}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax, c.Logger = 3, 10*time.Millisecond, 20*time.Millisecond, nil
	return c.StandardClient()
}

func failsafe(base http.RoundTripper, attempt time.Duration) *http.Client {
	retry := failsafehttp.NewRetryPolicyBuilder().WithBackoff(10*time.Millisecond, 20*time.Millisecond).WithMaxRetries(3).Build()
	if attempt == 0 {
		return &http.Client{Transport: failsafehttp.NewRoundTripper(base, retry)}
	}
	return &http.Client{Transport: failsafehttp.NewRoundTripper(base, retry, timeout.New[*http.Response](attempt))}
}

func ours(base http.RoundTripper, attempt time.Duration) *http.Client {
	b := resilient.New("orders").Defaults(resilient.Conservative).
		Retry(resilient.MaxRetries(3), resilient.Backoff(10*time.Millisecond, 20*time.Millisecond)).
		Transport(base).Registry(resilient.NewRegistry())
	if attempt != 0 {
		b = b.Timeout(resilient.PerAttempt(attempt))
	}
	return b.MustBuild()
}

// found is the answer to a question for each client: what a run shows, in a few words.
type found struct{ retryable, failsafe, resilient string }

// isInTheGuide compares with the table that is published.
func (f found) isInTheGuide(t *testing.T) {
	t.Helper()
	guide, err := os.ReadFile("../../docs/guides/testing-other-clients.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("| %s | %s | %s | [%s](../../examples/others/", f.retryable, f.failsafe, f.resilient, t.Name())
	if !strings.Contains(string(guide), want) {
		t.Errorf("the guide does not say: %s", want)
	}
}

// subject is a client that a question is put to, with a server in memory and in virtual time.
type subject struct {
	*testing.T
	*httptestx.Server
	client *http.Client
}

// ask puts a question to each client. The request's context, which ends with the answer, frees whatever a client leaves
// open, so that the bubble can end.
func ask(t *testing.T, want found, question func(context.Context, subject) string) {
	t.Helper()
	askWithTimeout(t, 0, want, question)
}

// askWithTimeout is ask for clients with a timeout for each attempt.
func askWithTimeout(t *testing.T, attempt time.Duration, want found, question func(context.Context, subject) string, opts ...httptestx.Option) {
	t.Helper()
	want.isInTheGuide(t)
	for _, c := range []struct {
		name string
		of   func(http.RoundTripper, time.Duration) *http.Client
		want string
	}{
		{"go-retryablehttp", retryable, want.retryable},
		{"failsafe-go", failsafe, want.failsafe},
		{"resilient", ours, want.resilient},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := httptestx.NewServer(t, shop(), opts...)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if got := question(ctx, subject{t, s, c.of(s.Client().Transport, attempt)}); got != c.want {
					t.Errorf("found %q, want %q", got, c.want)
				}
			})
		})
	}
}

// shop takes an order with each POST, and says so.
func shop() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "taken")
	})
}

// order posts an order, and tells what the caller hears: the status, or that there was an error.
func (u subject) order(ctx context.Context, header ...string) string {
	return u.hear(u.request(ctx, "POST", strings.NewReader(`{"book": 1}`), header...))
}

// get asks for the orders.
func (u subject) get(ctx context.Context) string { return u.hear(u.request(ctx, "GET", nil)) }

func (u subject) request(ctx context.Context, method string, body io.Reader, header ...string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, u.URL+"/orders", body)
	if err != nil {
		u.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (u subject) hear(req *http.Request) string {
	resp, err := u.client.Do(req)
	if err != nil {
		return "error"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Sprintf("%d, %d bytes and an error", resp.StatusCode, len(body))
	}
	return strconv.Itoa(resp.StatusCode)
}

// taken counts the orders that the shop has taken.
func (u subject) taken() string {
	n := 0
	for _, x := range u.Wait(len(u.Exchanges())) {
		if x.Handled && x.Method == "POST" {
			n++
		}
	}
	return "taken " + times(n)
}

// sent counts the requests that have arrived, and the connections that they needed.
func (u subject) sent() string {
	if n := u.Connections(); n > 1 {
		return fmt.Sprintf("%d requests over %d connections", len(u.Exchanges()), n)
	}
	return fmt.Sprintf("%d requests over one connection", len(u.Exchanges()))
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}
