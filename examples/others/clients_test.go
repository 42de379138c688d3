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

// The clients as their own documentation sets them up, with three retries. Only the waits are shorter than by default.

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

func ours(base http.RoundTripper) *http.Client { return builder(base).MustBuild() }

func builder(base http.RoundTripper) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.Conservative).
		Retry(resilient.MaxRetries(3), resilient.Backoff(10*time.Millisecond, 20*time.Millisecond)).
		Transport(base).Registry(resilient.NewRegistry())
}

// The same, with a second for each attempt.

func retryableWithTimeout(base http.RoundTripper) *http.Client {
	c := retryable(base)
	c.Transport.(*retryablehttp.RoundTripper).Client.HTTPClient.Timeout = time.Second
	return c
}

func failsafeWithTimeout(base http.RoundTripper) *http.Client {
	policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(10*time.Millisecond, 20*time.Millisecond).WithMaxRetries(3).Build()
	return &http.Client{Transport: failsafehttp.NewRoundTripper(base, policy, timeout.New[*http.Response](time.Second))}
}

func oursWithTimeout(base http.RoundTripper) *http.Client {
	return builder(base).Timeout(resilient.PerAttempt(time.Second)).MustBuild()
}

// client makes a client over a transport.
type client func(http.RoundTripper) *http.Client

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

// ask puts a question to each client.
func ask(t *testing.T, want found, question func(context.Context, subject) string, opts ...httptestx.Option) {
	t.Helper()
	put(t, [3]client{retryable, failsafe, ours}, want, question, opts...)
}

// askWithTimeout is ask for clients that give each attempt a second.
func askWithTimeout(t *testing.T, want found, question func(context.Context, subject) string) {
	t.Helper()
	put(t, [3]client{retryableWithTimeout, failsafeWithTimeout, oursWithTimeout}, want, question)
}

func put(t *testing.T, clients [3]client, want found, question func(context.Context, subject) string, opts ...httptestx.Option) {
	t.Helper()
	want.isInTheGuide(t)
	names := [3]string{"go-retryablehttp", "failsafe-go", "resilient"}
	for i, wanted := range [3]string{want.retryable, want.failsafe, want.resilient} {
		t.Run(names[i], func(t *testing.T) { answer(t, clients[i], wanted, question, opts...) })
	}
}

// answer puts a question to a client, in memory and in virtual time. The request's context, which ends with the
// answer, frees whatever a client leaves open, so that the bubble can end.
func answer(t *testing.T, c client, want string, question func(context.Context, subject) string, opts ...httptestx.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := httptestx.NewServer(t, shop(), opts...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if got := question(ctx, subject{t, s, c(s.Client().Transport)}); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	})
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
