package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spoil func(*http.Request)
		text  string
	}{
		"no URL":     {func(r *http.Request) { r.URL = nil }, "http: nil Request.URL"},
		"no headers": {func(r *http.Request) { r.Header = nil }, "http: nil Request.Header"},
		"no host":    {func(r *http.Request) { r.URL.Host = "" }, "http: no Host in request URL"},
		"no scheme":  {func(r *http.Request) { r.URL.Scheme = "" }, `unsupported protocol scheme ""`},
	} {
		for _, per := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " per authority ", per), func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				w := newWorld(t, nil)
				b := busy().Idempotency(resilient.Off)
				if per {
					b = b.PerAuthority()
				}
				body := track("order")
				r, _ := http.NewRequest("PUT", w.URL, body)
				row.spoil(r)
				_, err := w.client(b).Transport.RoundTrip(r)
				is.True(err != nil)
				is.Equal(err.Error(), row.text) // what the transport says
				is.Equal(body.closed(), 1)
				is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0) // a retry can't mend it
				is.Equal(w.circuit().Requests, uint64(0))               // and the dependency is not to blame
			})
		}
	}
}

// An empty body is sent as it is without the library, each time.
func TestEmptyBodiesStayEmpty(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, body := range map[string]func() io.Reader{
			"nil":                       func() io.Reader { return nil },
			"NoBody":                    func() io.Reader { return http.NoBody },
			"reader without bytes":      func() io.Reader { return strings.NewReader("") },
			"reader of unknown length":  func() io.Reader { return io.MultiReader() },
			"closer of unknown length":  func() io.Reader { return io.NopCloser(strings.NewReader("")) },
			"reader that ends with one": func() io.Reader { return iotest.DataErrReader(strings.NewReader("")) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				var seen []string
				p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, fmt.Sprint(r.ContentLength, r.TransferEncoding, r.Header["Content-Length"]))
					if len(seen) == 2 {
						w.WriteHeader(503)
					}
				}), func(w *world) {
					is := is.New(w.T)
					for _, c := range []*http.Client{w.Client(), w.client(busy().Idempotency(resilient.Off))} {
						resp, err := c.Post(w.URL, "", body())
						is.NoErr(err)
						is.Equal(resp.StatusCode, 200)
						read(w.T, resp)
					}
					is.Equal(len(seen), 3)
					is.Equal(seen[1], seen[0]) // the first attempt is as without the library
					is.Equal(seen[2], seen[0]) // and so is the retry
				})
			})
		}
	})
}

// Whatever becomes of a call, the caller's body is closed, and once.
func TestRequestBodyIsClosedOnceHoweverTheCallEnds(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		for name, row := range map[string]struct {
			build func(resilient.Builder) resilient.Builder
			plan  []httptestx.Step
			ctx   context.Context
		}{
			"success":           {},
			"retries":           {plan: httptestx.Unavailable(0)},
			"no response":       {plan: httptestx.LostResponse},
			"half sent":         {plan: httptestx.ResetBeforeRead},
			"early answer":      {plan: httptestx.Plan(httptestx.Status(404))},
			"attempt timeout":   {plan: httptestx.Stall, build: func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.PerAttempt(time.Second)) }},
			"total timeout":     {plan: httptestx.Stall, build: func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.Total(time.Second)) }},
			"cancelled before":  {ctx: cancelled},
			"concurrency limit": {build: func(b resilient.Builder) resilient.Builder { return b.Concurrency(resilient.Permits(1)) }},
			"circuit breaker":   {build: func(b resilient.Builder) resilient.Builder { return b.Breaker() }},
			"neither": {build: func(b resilient.Builder) resilient.Builder {
				return b.Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }))
			}},
		} {
			for _, again := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " with GetBody ", again), func(t *testing.T) {
					t.Parallel()
					p.bubble(t, http.HandlerFunc(repeatBody), func(w *world) {
						is := is.New(w.T)
						if row.plan != nil {
							w.On("PUT /").Do(row.plan...)
						}
						b := resilient.New("orders").Defaults(resilient.None).Registry(w.registry).Transport(w.Client().Transport).
							Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0))
						if row.build != nil {
							b = row.build(b)
						}
						c, err := b.Build()
						is.NoErr(err)
						letGo := func() {}
						if name == "concurrency limit" {
							letGo = w.occupy(c)
						}
						if name == "circuit breaker" {
							is.NoErr(w.registry.Isolate("orders"))
						}
						bodies := []*trackedBody{track("order")}
						r, _ := http.NewRequest("PUT", w.URL, bodies[0])
						r.ContentLength = 5
						if again {
							r.GetBody = func() (io.ReadCloser, error) {
								bodies = append(bodies, track("order"))
								return bodies[len(bodies)-1], nil
							}
						}
						if row.ctx != nil {
							r = r.WithContext(row.ctx)
						}
						if resp, err := c.Do(r); err == nil {
							read(w.T, resp)
						}
						letGo()
						synctest.Wait() // over HTTP/2 the transport closes in its own time
						for i, body := range bodies {
							is.Equal(body.closed(), 1) // the caller's, and those from GetBody
							_ = i
						}
					})
				})
			}
		}
	})
}

func TestNothingIsSentOrCountedForACallerWhoHasLeft(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(busy())
		for range 100 {
			ctx, cancel := context.WithCancelCause(w.Context())
			cancel(errBrowserClosed)
			_, err := c.Do(w.with(ctx))
			is.True(errors.Is(err, context.Canceled))
			is.True(errors.Is(err, errBrowserClosed))
		}
		is.Equal(w.arrived(), 0)
		is.Equal(len(eventsOf[resilient.AttemptDone](w)), 0)
		s := w.registry.Snapshot()[0]
		is.Equal(s.Budget.Requests, uint64(0))
		is.Equal(s.Breaker.Requests, uint64(0))
		is.Equal(s.Concurrency.InUse, 0)
	})
}

func TestServerThatClosesAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := loopback(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	})
	base := &http.Transport{}
	c := w.over(base, busy().Breaker(resilient.Off).Budget(resilient.Off))
	for range 10 {
		_, err := c.Post("http://"+l.Addr().String(), "text/plain", track("order"))
		is.True(err != nil) // no answer
	}
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 40) // each call has tried all it may
	for _, e := range eventsOf[resilient.AttemptDone](w) {
		is.True(e.Transient) // a server may come back
	}
	l.Close()
	accepting.Wait()
	base.CloseIdleConnections()
}

// What a careless base returns is made into something that can be used.
func TestCarelessTransports(t *testing.T) {
	t.Parallel()
	beside := track("beside")
	for name, row := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		status int
		text   string
	}{
		"neither response nor error": {
			func(*http.Request) (*http.Response, error) { return nil, nil }, 0,
			`resilient: client "orders": the transport returned neither a response nor an error; a RoundTripper must return one of them`,
		},
		"response beside an error": {
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: beside}, errUnder
			}, 0,
			"broken pipe",
		},
		"response without a body beside an error": {
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, errUnder }, 0,
			"broken pipe",
		},
		"no body": {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }, 200, ""},
		"no body of a failure": {
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }, 503, "",
		},
		"no headers": {
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 429, Body: http.NoBody}, nil
			}, 429, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			r, _ := http.NewRequest("GET", "http://x.test", nil)
			resp, err := w.over(roundTripper(row.answer), busy().Breaker(resilient.BreakUntilRetryAfter(true)).
				Breaker(resilient.MinimumThroughput(2))).Transport.RoundTrip(r)
			if row.text != "" {
				is.True(resp == nil) // never both
				is.Equal(err.Error(), row.text)
				return
			}
			is.NoErr(err)
			is.Equal(resp.StatusCode, row.status)
			is.Equal(resp.Body, http.NoBody) // it can be read and closed
			is.True(resp.Request == r)
		})
	}
	t.Cleanup(func() {
		if beside.closed() == 0 {
			t.Error("the body of a response that nobody will see is left open")
		}
	})
}

func TestNamesThatCannotBe(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	_, err := resilient.New("").Registry(w.registry).Build()
	var config *resilient.ConfigError
	is.True(errors.As(err, &config)) // no name
	is.Equal(config.Client, "")
	is.Equal(len(w.registry.Snapshot()), 0) // and nothing is kept under it
	_ = w.over(roundTripper(hello), narrow(0))
	_, err = narrow(5).Clock(w.clock).Registry(w.registry).Build()
	is.True(errors.As(err, &config)) // a name that is taken, for something else
	is.Equal(config.Client, "orders")
	is.Equal(config.Setting, "Concurrency(Queue(5))")
}

// The limit holds one place; the hops of a redirect take it in turn.
func TestRedirectNeedsOnePermit(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	}), func(w *world) {
		is := is.New(w.T)
		status, err := w.post(w.client(narrow(0)))
		is.NoErr(err)
		is.Equal(status, 200)
		is.Equal(w.arrived(), 2)
	})
}
