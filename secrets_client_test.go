package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// canary stands wherever a caller may have a secret. It must not come out anywhere.
const canary = "s3cr3t"

// secretive is a request with a secret in each place that may have one, but for the path.
func (w *world) secretive(ctx context.Context) *http.Request {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+canary+":"+canary+"@httptestx.test/?key="+canary+"&"+canary+"#"+canary,
		strings.NewReader(canary))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+canary)
	r.Header.Set("X-Api-Key", canary)
	r.AddCookie(&http.Cookie{Name: "session", Value: canary})
	return r
}

// all is what the library says of itself: log lines, events as a program may print them, and reports.
type all struct {
	mu   sync.Mutex
	text strings.Builder
}

func (a *all) say(words ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintln(&a.text, words...)
}

func (a *all) Write(p []byte) (int, error) { a.say(string(p)); return len(p), nil }

func (a *all) observe(_ context.Context, e resilient.Event) {
	a.say(fmt.Sprintf("%v %+v", e, e))
	switch e := e.(type) {
	case resilient.AttemptDone:
		a.say(e.Err)
	case resilient.CallDone:
		a.say(e.Err)
	}
}

func TestSecretsComeOutNowhere(t *testing.T) {
	t.Parallel()
	none := resilient.New("orders").Defaults(resilient.None)
	again := none.Retry(resilient.MaxRetries(1), every(time.Second))
	east := resilient.Endpoint{
		URL: "http://" + canary + ":" + canary + "@east.test/?key=" + canary, Header: http.Header{"X-Api-Key": {canary}},
	}
	for name, c := range map[string]struct {
		build resilient.Builder
		steps []httptestx.Step
	}{
		"success":         {again, nil},
		"not found":       {again, httptestx.Plan(httptestx.Status(404, "X-Token", canary))},
		"retry":           {again, httptestx.Plan(httptestx.Status(503, "X-Token", canary))},
		"lost response":   {again, httptestx.LostResponse},
		"attempt timeout": {again.Timeout(resilient.PerAttempt(time.Second)), httptestx.Plan(httptestx.Hang)},
		"total timeout":   {again.Timeout(resilient.Total(time.Second)), httptestx.Plan(httptestx.Hang)},
		"caller leaves":   {again, httptestx.Plan(httptestx.Hang)},
		"caller leaves the wait": {
			none.Retry(resilient.MaxRetries(1), every(time.Hour)), httptestx.LostResponse,
		},
		"circuit":           {none.Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2)), httptestx.LostResponse},
		"concurrency limit": {none.Concurrency(resilient.Permits(1)), httptestx.Plan(httptestx.Handle, httptestx.Send(1), httptestx.Hang)},
		"rate limit":        {none.RateLimit(resilient.PerMinute(1)), nil},
		"body idle":         {none.Timeout(resilient.BodyIdle(time.Second)), httptestx.Plan(httptestx.Handle, httptestx.Send(1), httptestx.Hang)},
		"endpoints":         {again.Endpoints(resilient.Ordered, east).RateLimit(resilient.PerMinute(1)), httptestx.Unavailable(time.Hour)},
		"redirect":          {again, httptestx.Plan(httptestx.Status(307, "Location", "/there?key="+canary))},
		"as a response":     {none.RateLimit(resilient.PerMinute(1)).RejectAsResponse(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, canary), func(w *world) {
				is := is.New(w.T)
				if c.steps != nil {
					w.On("/").Do(c.steps...)
				}
				said := &all{}
				client := w.client(c.build.Observe(said.observe).
					Observe(resilient.Slog(slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug})))))
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				ctx, report := resilient.WithReport(ctx)
				for range 4 {
					resp, err := client.Do(w.secretive(ctx))
					if err == nil {
						if name == "as a response" && resp.StatusCode == 429 {
							body, _ := io.ReadAll(resp.Body)
							said.say(string(body), resp.Header)
						}
						_, err = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					var outer *url.Error // net/http's own, with the whole URL
					if errors.As(err, &outer) {
						err = outer.Err
					}
					said.say(err, fmt.Sprintf("%+v", err))
				}
				said.say(report, fmt.Sprintf("%+v", w.registry.Snapshot()))
				is.True(said.text.Len() > 500) // it has said a lot
				if i := strings.Index(said.text.String(), canary); i >= 0 {
					t.Errorf("it came out: %s", said.text.String()[max(0, i-300):i+20])
				}
			})
		})
	}
}

// What net/http itself says of a call is as the guide has it.
func TestErrorsOfNetHTTPHaveTheQueryAndNoPassword(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.LostResponse...)
		_, err := w.client(resilient.New("orders").Defaults(resilient.None)).Get("http://user:password@httptestx.test/?key=" + canary)
		is.True(strings.Contains(err.Error(), "user") && strings.Contains(err.Error(), canary))
		is.True(!strings.Contains(err.Error(), "password"))
		is.True(!strings.Contains(errors.Unwrap(err).Error(), canary)) // which can be logged
	})
}

// A transport that is a client itself has the URL of the call in its errors, and what opened the circuit for one call is told
// to the next.
func TestErrorsOfOtherCallsAreToldWithoutTheirURL(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		inner := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })}
		c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			_ = r.Body.Close()
			return inner.Get(r.URL.String())
		}), brittle())
		for range 2 {
			_, _ = c.Do(w.secretive(w.Context()))
		}
		r, _ := http.NewRequestWithContext(w.Context(), "POST", w.URL, strings.NewReader(""))
		_, err := c.Do(r) // another call
		is.True(errors.Is(err, resilient.ErrCircuitOpen))
		is.True(!strings.Contains(err.Error(), canary))
		is.True(strings.HasSuffix(err.Error(), "(last failure: Get: unexpected EOF)")) // what it says without
		var inside *url.Error
		is.True(errors.As(errors.Unwrap(err), &inside)) // a program finds it still
	})
}

func TestSecretsAreNotInErrorsOfBuild(t *testing.T) {
	t.Parallel()
	place := func(e resilient.Endpoint) resilient.Builder {
		return resilient.New("orders").Endpoints(resilient.Ordered, e)
	}
	secret := canary + ":" + canary + "@"
	for name, b := range map[string]resilient.Builder{
		"scheme":       place(resilient.Endpoint{URL: "ftp://" + secret + "host/?key=" + canary}),
		"no host":      place(resilient.Endpoint{URL: "http://" + secret + "?key=" + canary}),
		"fragment":     place(resilient.Endpoint{URL: "http://" + secret + "host/?key=" + canary + "#" + canary}),
		"no URL":       place(resilient.Endpoint{URL: "http://" + secret + "host:port/?key=" + canary}),
		"header":       place(resilient.Endpoint{URL: "http://host", Header: http.Header{"X-Api-Key": {canary + "\n"}}}),
		"twice":        resilient.New("orders").Endpoints(resilient.Ordered, resilient.Endpoint{URL: "http://" + secret + "host"}, resilient.Endpoint{URL: "http://host"}),
		"document":     resilient.New("orders").JSON([]byte(`{"endpoints": {"routing": "ordered", "list": [{"url": "http:/` + secret + `host?` + canary + `"}]}}`)),
		"wrong weight": resilient.New("orders").JSON([]byte(`{"endpoints": {"routing": "ordered", "list": [{"url": "http://` + secret + `host", "weight": "x"}]}}`)),
	} {
		_, err := b.Registry(resilient.NewRegistry()).Build()
		is := is.New(t)
		is.True(err != nil) // there is something wrong
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
