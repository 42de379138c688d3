package resilient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

// An errorRow is a call that fails, and what must be known of its error.
type errorRow struct {
	name    string
	build   func(resilient.Builder) resilient.Builder // nil: nothing is on
	call    func(w *world, c *http.Client) error
	is      []string // of the known errors: these, and no other
	timeout bool
	text    string
}

// errorsOfGates are of calls that are not sent.
func errorsOfGates(p protocol) []errorRow {
	scheme := map[bool]string{true: "https://", false: "http://"}[p.tls]
	return []errorRow{
		{
			"concurrency limit",
			func(b resilient.Builder) resilient.Builder { return b.Concurrency(resilient.Permits(1)) },
			func(w *world, c *http.Client) error {
				defer w.occupy(c)()
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"concurrency limit"}, false,
			`resilient: client "orders": concurrency limit reached`,
		},
		{
			"circuit open",
			func(b resilient.Builder) resilient.Builder {
				return b.Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute))
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Unavailable(0)...)
				_, _ = w.post(c)
				_, _ = w.post(c)
				time.Sleep(500 * time.Millisecond)
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"circuit open"}, false,
			`resilient: client "orders": circuit breaker is open, retry after 59.5s (last failure: status 503 Service Unavailable)`,
		},
		{
			"circuit isolated",
			func(b resilient.Builder) resilient.Builder { return b.Breaker() },
			func(w *world, c *http.Client) error {
				_ = w.registry.Isolate("orders")
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"circuit open"}, false,
			`resilient: client "orders": circuit breaker is open`,
		},
		{
			"rate limited",
			func(b resilient.Builder) resilient.Builder { return b.RateLimit(resilient.PerMinute(1)) },
			func(w *world, c *http.Client) error {
				_, _ = w.post(c)
				time.Sleep(30 * time.Second)
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"rate limited"}, false,
			`resilient: client "orders": rate limit reached, retry after 30s`,
		},
		{
			"rate that is never enough",
			func(b resilient.Builder) resilient.Builder { return b.RateLimit(resilient.PerMinute(10)) },
			func(w *world, c *http.Client) error {
				_, err := c.Do(w.with(resilient.WithCost(w.Context(), 11)))
				return err
			},
			[]string{"rate limited"}, false,
			`resilient: client "orders": rate limit reached: it costs 11 tokens, and the rate limit holds 10 at most`,
		},
		{
			"cost below nothing",
			func(b resilient.Builder) resilient.Builder {
				return b.RateLimit(resilient.PerMinute(10), resilient.Cost(func(*http.Request) int { return -1 }))
			},
			func(w *world, c *http.Client) error { _, err := c.Get(w.URL); return err },
			nil, false,
			`resilient: client "orders": a cost of -1 tokens, by RateLimit(Cost) or WithCost: must be 0 or more`,
		},
		{
			"no endpoint",
			func(b resilient.Builder) resilient.Builder {
				return b.Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute)).
					Endpoints(resilient.Ordered, resilient.Endpoint{URL: scheme + "a"}, resilient.Endpoint{URL: scheme + "b"})
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Unavailable(0)...)
				for range 4 {
					_, _ = w.post(c)
				}
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"no endpoint", "circuit open"}, false,
			`resilient: client "orders": no endpoint is available, retry after 1m0s: ` +
				`a: circuit breaker is open for 1m0s (last failure: status 503 Service Unavailable); ` +
				`b: circuit breaker is open for 1m0s (last failure: status 503 Service Unavailable)`,
		},
	}
}

// errorsOfTime are of calls whose time is over.
func errorsOfTime() []errorRow {
	return []errorRow{
		{
			"attempt timeout",
			func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.PerAttempt(2 * time.Second)) },
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Stall...)
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"attempt timeout", "deadline exceeded"}, true,
			`resilient: client "orders": attempt timeout after 2s`,
		},
		{
			"total timeout",
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Total(2500 * time.Millisecond))
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Stall...)
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"total timeout", "deadline exceeded"}, true,
			`resilient: client "orders": total timeout after 2.5s`,
		},
		{
			"total timeout in the queue",
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Total(time.Second)).Concurrency(resilient.Permits(1), resilient.Queue(1))
			},
			func(w *world, c *http.Client) error {
				defer w.occupy(c)()
				_, err := c.Get(w.URL)
				return err
			},
			[]string{"total timeout", "deadline exceeded"}, true,
			`resilient: client "orders": total timeout after 1s`,
		},
		{
			"body idle",
			func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.BodyIdle(3 * time.Second)) },
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.SlowBody(time.Minute)...)
				resp, err := c.Get(w.URL)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
				return err
			},
			[]string{"body idle", "deadline exceeded"}, true,
			`resilient: client "orders": body idle timeout after 3s`,
		},
		{
			"total timeout in the body",
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Total(3*time.Second), resilient.TotalIncludesBody(true))
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.SlowBody(time.Minute)...)
				resp, err := c.Get(w.URL)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
				return err
			},
			[]string{"total timeout", "deadline exceeded"}, true,
			`resilient: client "orders": total timeout after 3s`,
		},
	}
}

// errorsOfCallers are of calls that their caller leaves.
func errorsOfCallers() []errorRow {
	return []errorRow{
		{
			"left before it began", nil,
			func(w *world, c *http.Client) error {
				ctx, cancel := context.WithCancel(w.Context())
				cancel()
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"canceled"}, false, "context canceled",
		},
		{
			"left before it began, for a reason", nil,
			func(w *world, c *http.Client) error {
				ctx, cancel := context.WithCancelCause(w.Context())
				cancel(errBrowserClosed)
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"canceled", "browser closed"}, false,
			`resilient: client "orders": context canceled: the browser was closed`,
		},
		{
			"deadline before it began", nil,
			func(w *world, c *http.Client) error {
				ctx, cancel := context.WithTimeout(w.Context(), 0)
				defer cancel()
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"deadline exceeded"}, true, "context deadline exceeded",
		},
		{
			"deadline in the queue, for a reason",
			func(b resilient.Builder) resilient.Builder {
				return b.Concurrency(resilient.Permits(1), resilient.Queue(1))
			},
			func(w *world, c *http.Client) error {
				defer w.occupy(c)()
				ctx, cancel := context.WithTimeoutCause(w.Context(), time.Second, errBrowserClosed)
				defer cancel()
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"deadline exceeded", "browser closed"}, true,
			`resilient: client "orders": context deadline exceeded: the browser was closed`,
		},
		{
			"left the wait for a retry",
			func(b resilient.Builder) resilient.Builder {
				return b.Retry(resilient.Backoff(time.Minute, 0), resilient.NoJitter)
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Unavailable(0)...)
				ctx, cancel := context.WithCancelCause(w.Context())
				time.AfterFunc(time.Second, func() { cancel(errBrowserClosed) })
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"canceled", "browser closed"}, false,
			`resilient: client "orders": context canceled: the browser was closed while waiting to retry ` +
				`(last attempt: status 503 Service Unavailable)`,
		},
		{
			"left the wait for a retry after an error",
			func(b resilient.Builder) resilient.Builder {
				return b.Retry(resilient.Backoff(time.Minute, 0), resilient.NoJitter).Timeout(resilient.PerAttempt(time.Second))
			},
			func(w *world, c *http.Client) error {
				w.On("/").Do(httptestx.Stall...)
				ctx, cancel := context.WithCancel(w.Context())
				time.AfterFunc(5*time.Second, cancel)
				_, err := c.Do(w.with(ctx))
				return err
			},
			[]string{"canceled", "attempt timeout", "deadline exceeded"}, false, // the attempt's timeout is in it, but the call had none
			`resilient: client "orders": context canceled while waiting to retry ` +
				`(last attempt: resilient: client "orders": attempt timeout after 1s)`,
		},
	}
}

// errorsOfTransports are of calls that the base fails.
func errorsOfTransports() []errorRow {
	return []errorRow{
		{
			"neither response nor error",
			func(b resilient.Builder) resilient.Builder {
				return b.Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }))
			},
			func(w *world, c *http.Client) error { _, err := c.Get(w.URL); return err },
			nil, false,
			`resilient: client "orders": the transport returned neither a response nor an error; ` +
				`a RoundTripper must return one of them`,
		},
		{
			"sent by net/http again and again",
			func(b resilient.Builder) resilient.Builder {
				base := &http.Transport{Protocols: &http.Protocols{}}
				base.Protocols.SetUnencryptedHTTP2(true) // where net/http has such loops
				base.RegisterProtocol("again", roundTripper(func(r *http.Request) (*http.Response, error) {
					for range 3 { // one connection each time
						httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: http2Conn{}})
					}
					return nil, r.Context().Err()
				}))
				return b.Transport(base)
			},
			func(_ *world, c *http.Client) error { _, err := c.Get("again://x.test"); return err },
			nil, false,
			`resilient: client "orders": the transport sent the request twice and was stopped from sending it again`,
		},
		{
			"an error of the base",
			func(b resilient.Builder) resilient.Builder {
				return b.Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errUnder }))
			},
			func(w *world, c *http.Client) error { _, err := c.Get(w.URL); return err },
			[]string{"under"}, false, "broken pipe",
		},
		{
			"a timeout that the base told in its own words",
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.PerAttempt(time.Second)).Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, errUnder
				}))
			},
			func(w *world, c *http.Client) error { _, err := c.Get(w.URL); return err },
			[]string{"attempt timeout", "deadline exceeded", "under"}, true,
			`resilient: client "orders": attempt timeout after 1s`,
		},
		{
			"a timeout that the base took for a cancel",
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Total(time.Second)).Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}))
			},
			func(w *world, c *http.Client) error { _, err := c.Get(w.URL); return err },
			[]string{"total timeout", "deadline exceeded"}, true, // nobody has cancelled
			`resilient: client "orders": total timeout after 1s`,
		},
	}
}
