package resilient_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A shutGate is a client whose next call is refused.
type shutGate struct {
	gate    string
	status  int
	after   string // Retry-After
	message string
	shut    func(*world) *http.Client
}

func shutGates() map[string]shutGate {
	name := resilient.New("orders").Defaults(resilient.None).RejectAsResponse()
	return map[string]shutGate{
		"concurrency limit": {
			"concurrency_limit", 503, "", `resilient: client "orders": concurrency limit reached`,
			func(w *world) *http.Client {
				c := w.client(name.Concurrency(resilient.Permits(1), resilient.Queue(0)))
				w.Cleanup(w.occupy(c))
				return c
			},
		},
		"rate limit": {
			"rate_limit", 429, "60", `resilient: client "orders": rate limit reached, retry after 59.75s`,
			func(w *world) *http.Client {
				c := w.client(name.RateLimit(resilient.PerMinute(1)))
				w.served(c, 1, 200)
				time.Sleep(250 * time.Millisecond)
				return c
			},
		},
		"rate limit for good": {
			"rate_limit", 429, "", `resilient: client "orders": rate limit reached: it costs 2 tokens, and the rate limit holds 1 at most`,
			func(w *world) *http.Client {
				return w.client(name.RateLimit(resilient.PerMinute(1), resilient.Cost(func(*http.Request) int { return 2 })))
			},
		},
		"breaker": {
			"circuit_breaker", 503, "30", `resilient: client "orders": circuit breaker is open, retry after 29.000000001s (last failure: status 500 Internal Server Error)`,
			func(w *world) *http.Client {
				w.On("/").Nth(1).Do(httptestx.Status(500))
				w.On("/").Nth(1).Do(httptestx.Status(500))
				c := w.client(name.Breaker(resilient.MinimumThroughput(2), resilient.BreakDuration(30*time.Second)))
				w.served(c, 2, 500)
				time.Sleep(time.Second - 1)
				return c
			},
		},
		"isolated breaker": {
			"circuit_breaker", 503, "", `resilient: client "orders": circuit breaker is open`,
			func(w *world) *http.Client {
				c := w.client(name.Breaker())
				is.New(w.T).NoErr(w.registry.Isolate("orders"))
				return c
			},
		},
		"endpoints": {
			"endpoints", 503, "1", `resilient: client "orders": no endpoint is available, retry after 1s: a: asked to be left alone for 1s`,
			func(w *world) *http.Client {
				w.On("/").Nth(1).Do(httptestx.TooManyRequests(time.Second)...)
				c := w.client(name.Endpoints(resilient.Ordered, places("a")...))
				w.served(c, 1, 429)
				return c
			},
		},
	}
}

func TestRejectionCanBeAResponse(t *testing.T) {
	t.Parallel()
	for name, row := range shutGates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "body"), func(w *world) {
				is := is.New(w.T)
				c := row.shut(w)
				arrived := w.arrived()
				body := track("order")
				r, _ := http.NewRequest("POST", w.URL, body)
				r.ContentLength = 5
				resp, err := c.Do(r)
				is.NoErr(err)                                                                   // no error is made of it
				is.Equal(w.arrived(), arrived)                                                  // nothing was sent
				is.Equal(body.closed(), 1)                                                      // the body is closed all the same
				is.Equal(resp.StatusCode, row.status)                                           // too many, or not now
				is.Equal(resp.Status, strconv.Itoa(row.status)+" "+http.StatusText(row.status)) // in words
				is.Equal(resp.Header["Retry-After"] == nil, row.after == "")                    // unless nobody knows
				is.Equal(resp.Header.Get("Retry-After"), row.after)                             // rounded up: never too early
				is.Equal(resp.Header.Get("x-should-retry"), "false")                            // SDKs must not ask again
				is.Equal(resp.Header.Get("Content-Type"), "application/json")
				is.True(resp.Request == r) // as with any response
				is.Equal(resp.Proto, "HTTP/1.1")
				text := read(w.T, resp)
				is.Equal(resp.ContentLength, int64(len(text)))
				is.Equal(resp.Header.Get("Content-Length"), strconv.Itoa(len(text)))
				var told struct {
					Error struct{ Message, Type, Code string }
				}
				is.NoErr(json.Unmarshal([]byte(text), &told)) // in the form of the services
				is.Equal(told.Error.Message, row.message)     // the error's own words
				is.Equal(told.Error.Type, "rejected")
				is.Equal(told.Error.Code, row.gate)
				all := eventsOf[resilient.Rejected](w)
				is.Equal(all[len(all)-1].Gate, row.gate) // observers see a refusal
			})
		})
	}
}

// The events tell what happened, and a response is only a form.
func TestObserversSeeTheRejectionAndNotItsForm(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered().RejectAsResponse())
		w.served(c, 1, 200)
		w.served(c, 1, 429)
		done := eventsOf[resilient.CallDone](w)[1]
		is.Equal(done.Status, 0)
		is.Equal(done.Attempts, 0)
		is.True(errors.Is(done.Err, resilient.ErrRateLimited))
	})
}

// What is no refusal stays what it is.
func TestOnlyRejectionsAreMadeResponses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		builder resilient.Builder
		plan    []httptestx.Step
		is      error
	}{
		"a lost connection":   {retrying(resilient.Off), httptestx.LostResponse, nil},
		"an attempt timeout":  {retrying(resilient.Off).Timeout(resilient.PerAttempt(time.Second)), httptestx.Stall, resilient.ErrAttemptTimeout},
		"a total timeout":     {retrying(resilient.Off).Timeout(resilient.Total(time.Second)), httptestx.Stall, resilient.ErrTotalTimeout},
		"a caller who leaves": {retrying(resilient.Off), httptestx.Stall, context.DeadlineExceeded},
		"a negative cost":     {metered(resilient.Cost(func(*http.Request) int { return -1 })), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				if row.plan != nil {
					w.On("/").Do(row.plan...)
				}
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				_, err := w.callWith(ctx, w.client(row.builder.RejectAsResponse()))
				is.True(err != nil)
				is.True(row.is == nil || errors.Is(err, row.is))
			})
		})
	}
}

func TestRejectionOfARetryIsAResponseToo(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(retrying(every(time.Second)).Breaker(resilient.MinimumThroughput(100)).RejectAsResponse())
		time.AfterFunc(500*time.Millisecond, func() { _ = w.registry.Isolate("orders") })
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		is.Equal(resp.Header.Get("x-should-retry"), "false") // ours
		is.Equal(w.arrived(), 1)
	})
}
