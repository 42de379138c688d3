package resilient_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// What the README shows, so that it compiles: each of its Go snippets is, line
// by line, a part of this file.

func readmeUse(url string, showStale func() error) error {
	client, err := resilient.New("inventory").
		Defaults(resilient.Conservative).
		Retry(resilient.MaxRetries(2), resilient.Backoff(200*time.Millisecond, 2*time.Second)). // instead of the preset's
		Build()
	if err != nil {
		return err // every setting that is out of range, with the way out
	}
	resp, err := client.Get(url)
	if errors.Is(err, resilient.ErrCircuitOpen) {
		return showStale() // nothing was sent: the dependency is resting
	}
	if err == nil {
		defer resp.Body.Close()
	}
	return err
}

func readmeDefault() {
	http.DefaultClient = resilient.New("default").Defaults(resilient.Conservative).PerAuthority().MustBuild()
}

func readmeAround(existing *http.Client) error {
	orders := resilient.New("orders").Defaults(resilient.Conservative)
	client, err := orders.Client(existing).Build() // jar, CheckRedirect and transport are kept; Timeout becomes Total, body included
	rt, err := orders.BuildTransport()             // http.RoundTripper
	_, _ = client, rt
	return err
}

func readmeSee(operators *http.ServeMux) error {
	client, err := resilient.New("inventory").Defaults(resilient.Conservative).
		Observe(resilient.Slog(slog.Default())). // a line for each decision; what goes well is at Debug
		OpenTelemetry().                         // a span for each attempt, metrics
		Build()
	operators.Handle("/debug/resilient", resilient.DefaultRegistry().Handler()) // a page, on a mux that only operators reach
	_ = client
	return err
}

func TestReadmeSnippetOfLostResponse(t *testing.T) {
	handler, body := always(200, "ok"), strings.NewReader("{}")
	orders := resilient.New("orders").Defaults(resilient.Conservative).Registry(resilient.NewRegistry())
	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Script(httptestx.LostResponse) // processed, then the answer is lost
	client := orders.Transport(srv.Client().Transport).MustBuild()
	_, err := client.Post(srv.URL+"/orders", "application/json", body)
	httptestx.AtMostOnce(t, srv) // fails if one order has arrived twice
	is.New(t).True(err != nil)   // the client is left without an answer
}

func TestReadmeSnippetsAreCompiled(t *testing.T) {
	is := is.New(t)
	this, err := os.ReadFile("readme_test.go")
	is.NoErr(err)
	code := flat(string(this))
	snippets := strings.Split(readme(t), "```go\n")[1:]
	is.Equal(len(snippets), 5) // none is missed
	for _, s := range snippets {
		s, _, _ = strings.Cut(s, "```")
		if !strings.Contains(code, flat(s)) {
			t.Errorf("not in readme_test.go, so nobody knows whether it compiles:\n%s", s)
		}
	}
	_, _, _, _ = readmeUse, readmeDefault, readmeAround, readmeSee
}

// flat is s with single spaces for any white space.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func readme(t *testing.T) string {
	b, err := os.ReadFile("README.md")
	is.New(t).NoErr(err)
	return string(b)
}

// The table of presets repeats defaults.go for readers; it must not drift.
func TestReadmeTableShowsThePresets(t *testing.T) {
	text := readme(t)
	for name, cell := range map[string]func(resilient.Config) string{
		"total timeout":     func(c resilient.Config) string { return span(c.Timeout.Total) },
		"attempt timeout":   func(c resilient.Config) string { return span(c.Timeout.PerAttempt) },
		"body idle timeout": func(c resilient.Config) string { return span(c.Timeout.BodyIdle) },
		"concurrency limit": func(c resilient.Config) string {
			return onOff(c.Concurrency.Permits > 0, fmt.Sprintf("%d / %d", c.Concurrency.Permits, c.Concurrency.Queue))
		},
		"retry": func(c resilient.Config) string {
			most := "none"
			if c.Retry.BackoffCap > 0 {
				most = span(c.Retry.BackoffCap)
			}
			return onOff(c.Retry.MaxRetries > 0, fmt.Sprintf("%d, %s / %s", c.Retry.MaxRetries, span(c.Retry.BackoffBase), most))
		},
		"idempotency": func(c resilient.Config) string { return onOff(c.Idempotency.UnprocessedOnly, "on") },
		"retry budget": func(c resilient.Config) string {
			b := c.Budget
			return onOff(b.MinimumThroughput > 0, fmt.Sprintf("%v / %s / %d", b.RetryRatio, span(b.SamplingDuration), b.MinimumThroughput))
		},
		"circuit breaker": func(c resilient.Config) string {
			b := c.Breaker
			s := fmt.Sprintf("%v / %d / %s / %s", b.FailureRatio, b.MinimumThroughput, span(b.SamplingDuration), span(b.BreakDuration))
			if b.BreakUntilRetryAfter {
				s += " or Retry-After"
			}
			return onOff(b.MinimumThroughput > 0, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			var want []string
			for _, p := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
				want = append(want, cell(p.Config()))
			}
			_, row, found := strings.Cut(text, "\n| "+name+" |")
			is.True(found) // the strategy has a row
			row, _, _ = strings.Cut(row, "\n")
			cells := strings.Split(strings.TrimSuffix(row, " |"), " | ")
			is.Equal(cells[len(cells)-4:], want) // None, Standard, Conservative, AI
		})
	}
}

func onOff(on bool, s string) string {
	if !on {
		return "off"
	}
	return s
}

func span(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	return fmt.Sprintf("%vs", d.Seconds())
}
