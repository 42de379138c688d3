package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A turnedAway is a call that is not sent, or not again, and what it ends with.
type turnedAway struct {
	build func(*world, resilient.Builder) resilient.Builder
	spoil func(*world, *http.Client) (mend func())
	ctx   func(context.Context) (context.Context, context.CancelFunc)
	err   error // nil: there is a response
	sent  int
}

// refusals are all the ways in which a body may come to nothing.
func refusals() map[string]turnedAway {
	occupied := func(w *world, c *http.Client) func() { return w.occupy(c) }
	isolated := func(w *world, _ *http.Client) func() { _ = w.registry.Isolate("orders"); return func() {} }
	limit := func(queue int) func(*world, resilient.Builder) resilient.Builder {
		return func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Concurrency(resilient.Permits(1), resilient.Queue(queue))
		}
	}
	rate := func(options ...resilient.RateLimitOption) func(*world, resilient.Builder) resilient.Builder {
		return func(_ *world, b resilient.Builder) resilient.Builder {
			return b.RateLimit(resilient.PerMinute(1)).RateLimit(options...)
		}
	}
	cancelled := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, cancel
	}
	soon := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, time.Second)
	}
	costs := func(tokens int) resilient.RateLimitOption {
		return resilient.Cost(func(*http.Request) int { return tokens })
	}
	return map[string]turnedAway{
		"circuit open":          {build: withBreaker, spoil: isolated, err: resilient.ErrCircuitOpen},
		"no endpoint":           {build: withEndpoint, spoil: isolated, err: resilient.ErrNoEndpoint},
		"no permit":             {build: limit(0), spoil: occupied, err: resilient.ErrConcurrencyLimit, sent: 1},
		"deadline in the queue": {build: limit(1), spoil: occupied, ctx: soon, err: context.DeadlineExceeded, sent: 1},
		"total in the queue": {build: func(w *world, b resilient.Builder) resilient.Builder {
			return limit(1)(w, b).Timeout(resilient.Total(time.Second))
		}, spoil: occupied, err: resilient.ErrTotalTimeout, sent: 1},
		"no tokens":                {build: rate(), spoil: spent, err: resilient.ErrRateLimited, sent: 1},
		"deadline before tokens":   {build: rate(resilient.Wait(time.Hour)), spoil: spent, ctx: soon, err: resilient.ErrRateLimited, sent: 1},
		"cost above the burst":     {build: rate(costs(2)), err: resilient.ErrRateLimited},
		"cost that is none":        {build: rate(costs(-1)), err: errAny},
		"cancelled beforehand":     {ctx: cancelled, err: context.Canceled},
		"budget used up":           {build: withoutBudget, sent: 1},
		"method is not retried":    {build: onlyGet, sent: 1},
		"cancelled before retry":   {build: lingering, ctx: soon, err: context.DeadlineExceeded, sent: 1},
		"retry refused for tokens": {build: rate(), sent: 1},
	}
}

// errAny is any error.
var errAny = errors.New("any")

func spent(w *world, c *http.Client) func() {
	read(w.T, got(w, c))
	return func() {}
}

func withBreaker(_ *world, b resilient.Builder) resilient.Builder { return b.Breaker() }

func withEndpoint(w *world, b resilient.Builder) resilient.Builder {
	return b.Breaker().Endpoints(resilient.Ordered, resilient.Endpoint{URL: w.URL})
}

func withoutBudget(_ *world, b resilient.Builder) resilient.Builder {
	return b.Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1))
}

func onlyGet(_ *world, b resilient.Builder) resilient.Builder {
	return b.Retry(resilient.RetryMethods("GET"))
}

// lingering waits for longer than the caller does, who leaves while the response is thrown
// away, which takes 100 ms.
func lingering(w *world, b resilient.Builder) resilient.Builder {
	w.On("PUT /").Do(httptestx.Status(503), httptestx.Send(3), httptestx.Hang)
	return b.Retry(every(950 * time.Millisecond))
}

// golang/oauth2#269: a body is closed, and once, also where nothing was sent; or who
// writes it at the other end of a pipe waits for ever.
func TestRefusedCallClosesItsBody(t *testing.T) {
	t.Parallel()
	for name, row := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothVersions(t, func(t *testing.T, p protocol) {
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					c, done := row.prepare(w)
					defer done()
					body := track("order")
					r, cancel := row.request(w, body)
					defer cancel()
					resp, err := c.Do(r)
					row.assert(w, resp, err)
					is.Equal(body.closed(), 1) // the caller's body, once
				})
			})
		})
	}
}

// The same as seen from the other end of a pipe.
func TestRefusedCallLetsTheWriterOfItsBodyGo(t *testing.T) {
	t.Parallel()
	for name, row := range refusals() {
		if row.sent > 0 && row.spoil == nil {
			continue // by then somebody has read it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothVersions(t, func(t *testing.T, p protocol) {
				p.bubble(t, always(200, "ok"), func(w *world) {
					c, done := row.prepare(w)
					defer done()
					pr, pw := io.Pipe()
					written := make(chan error, 1)
					go func() {
						_, err := pw.Write(make([]byte, 1<<20))
						written <- err
					}()
					r, cancel := row.request(w, pr)
					defer cancel()
					resp, err := c.Do(r)
					row.assert(w, resp, err)
					if err := <-written; err == nil {
						w.Error("somebody has read a body that was not to be sent")
					}
				})
			})
		})
	}
}

func (row turnedAway) prepare(w *world) (c *http.Client, done func()) {
	w.Helper()
	b := retrying(every(time.Second))
	if row.build != nil {
		b = row.build(w, b)
	}
	w.On("PUT /").Do(httptestx.Status(503))
	c, done = w.client(b), func() {}
	if row.spoil != nil {
		done = row.spoil(w, c)
	}
	return c, done
}

func (row turnedAway) request(w *world, body io.Reader) (*http.Request, context.CancelFunc) {
	ctx, cancel := w.Context(), context.CancelFunc(func() {})
	if row.ctx != nil {
		ctx, cancel = row.ctx(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, "PUT", w.URL, body)
	if err != nil {
		w.Fatal(err)
	}
	return r, cancel
}

func (row turnedAway) assert(w *world, resp *http.Response, err error) {
	w.Helper()
	is := is.New(w.T)
	is.Equal(err == nil, row.err == nil)                                    // a response, or none
	is.True(row.err == nil || row.err == errAny || errors.Is(err, row.err)) //nolint:errorlint // the very row
	is.Equal(w.arrived(), row.sent)                                         // it was not sent, or not again
	if err == nil {
		is.Equal(resp.StatusCode, 503)
		read(w.T, resp)
	}
	synctest.Wait() // over HTTP/2 the transport closes in its own time
}
