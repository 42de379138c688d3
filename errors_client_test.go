package resilient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// errUnder is the error that a base transport has of its own.
var errUnder = errors.New("broken pipe")

// known are the errors that callers ask for.
var known = map[string]error{
	"circuit open":      resilient.ErrCircuitOpen,
	"concurrency limit": resilient.ErrConcurrencyLimit,
	"attempt timeout":   resilient.ErrAttemptTimeout,
	"total timeout":     resilient.ErrTotalTimeout,
	"body idle":         resilient.ErrBodyIdle,
	"deadline exceeded": context.DeadlineExceeded,
	"canceled":          context.Canceled,
	"browser closed":    errBrowserClosed,
	"under":             errUnder,
}

// kinds returns the names of the known errors that err is.
func kinds(err error) map[string]bool {
	found := map[string]bool{}
	for name, target := range known {
		if errors.Is(err, target) {
			found[name] = true
		}
	}
	return found
}

// with is a request to the world's server with a context.
func (w *world) with(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
	return r
}

// occupy makes a call that lasts until it is let go.
func (w *world) occupy(c *http.Client) (letGo func()) {
	w.Helper()
	resp, err := c.Get(w.URL)
	if err != nil {
		w.Fatal(err)
	}
	return func() { resp.Body.Close() }
}

// Every error that the library makes, through a real client.
func TestEveryErrorIsFoundThroughTheClientsError(t *testing.T) {
	t.Parallel()
	type build func(resilient.Builder) resilient.Builder
	for _, row := range []struct {
		name    string
		build   build
		call    func(w *world, c *http.Client) error
		is      []string
		timeout bool
		text    string
	}{
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
			func(b resilient.Builder) resilient.Builder { return b.Retry(resilient.Backoff(time.Minute, 0)) },
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
				return b.Retry(resilient.Backoff(time.Minute, 0)).Timeout(resilient.PerAttempt(time.Second))
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
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, strings.Repeat("x", 100)), func(w *world) {
				is := is.New(w.T)
				b := resilient.New("orders").Defaults(resilient.None).Transport(w.Client().Transport).Registry(w.registry)
				if row.build != nil {
					b = row.build(b)
				}
				c, err := b.Build()
				is.NoErr(err)
				err = row.call(w, c)
				want := map[string]bool{}
				for _, name := range row.is {
					want[name] = true
				}
				is.Equal(kinds(err), want) // what it is, and what it is not
				is.Equal(isTimeout(err), row.timeout)
				var outer *url.Error
				if errors.As(err, &outer) { // all but those of a body
					is.Equal(outer.Timeout(), row.timeout) // as most ask
					err = outer.Err
				}
				is.Equal(err.Error(), row.text)
			})
		})
	}
}

// A caller who is gone while an attempt is on its way gets what net/http gives.
func TestCallersOwnErrorStaysHisOwn(t *testing.T) {
	t.Parallel()
	for name, leaving := range leavings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Stall...)
				var texts []string
				for _, c := range []*http.Client{w.client(busy()), w.Client()} { // through the library, and without
					r, leave := leaving(w.with(w.Context()))
					var left sync.WaitGroup
					left.Go(func() {
						time.Sleep(time.Second)
						leave()
					})
					_, err := c.Do(r)
					left.Wait()
					texts = append(texts, err.Error())
					var outer *url.Error
					is.True(errors.As(err, &outer))
					is.Equal(outer.Timeout(), name == "deadline")
					is.Equal(errors.Is(err, errBrowserClosed), strings.HasSuffix(name, "cause"))
				}
				is.Equal(texts[0], texts[1]) // there is no difference
				synctest.Wait()
			})
		})
	}
}

// An error of the library is a net.Error where it is a timeout, as net/http's are.
func TestTimeoutsAreNetErrors(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Stall...)
		rt := w.client(counted().Timeout(resilient.PerAttempt(time.Second))).Transport
		_, err := rt.RoundTrip(w.with(w.Context()))
		netErr, ok := err.(net.Error) //nolint:errorlint // url.Error asserts likewise
		is.True(ok)
		is.True(netErr.Timeout())
	})
}

// An http2Conn says that HTTP/2 was agreed on.
type http2Conn struct{ net.Conn }

func (http2Conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: "h2"}
}
