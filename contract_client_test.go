package resilient_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// busy has every strategy on, and repeats at once.
func busy() resilient.Builder {
	return resilient.New("orders").
		Retry(resilient.MaxRetries(3), resilient.Backoff(0, 0)).
		Budget().
		Idempotency(resilient.GenerateKeys).
		Timeout(resilient.BodyIdle(time.Minute))
}

// The caller's request is the caller's.
func TestCallersRequestIsLeftAlone(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, body := range map[string]func(*http.Request){
			"with GetBody":    func(r *http.Request) {},
			"without GetBody": func(r *http.Request) { r.GetBody = nil },
			"streamed":        func(r *http.Request) { r.GetBody, r.ContentLength = nil, -1 },
			"no body":         func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0 },
			"nil":             func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = nil, nil, 0 },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, http.HandlerFunc(repeatBody), func(w *world) {
					is := is.New(w.T)
					w.On("/").Script(httptestx.Unavailable(0), httptestx.LostResponse)
					r, _ := http.NewRequest("POST", w.URL+"/a%2Fb?q=1", strings.NewReader("order"))
					r.Header = http.Header{"X-Mine": {"1", "2"}, "User-Agent": nil}
					r.Host, r.Close = "orders.test", true
					r.Trailer = http.Header{"X-Sum": nil}
					body(r)
					before, header, trailer, url := *r, r.Header.Clone(), maps.Clone(r.Trailer), *r.URL
					resp, err := w.client(busy()).Transport.RoundTrip(r)
					is.NoErr(err)
					read(w.T, resp)
					is.Equal(w.arrived(), 3) // it was repeated, twice

					is.Equal(r.Header, header)     // not a header more
					is.Equal(r.Trailer, trailer)   // nor a trailer
					is.Equal(*r.URL, url)          // nor another URL
					is.True(r.URL == before.URL)   // not a copy either
					is.True(r.Body == before.Body) // the body is what it was
					is.Equal(r.GetBody == nil, before.GetBody == nil)
					is.Equal(reflect.ValueOf(r.Header).Pointer(), reflect.ValueOf(before.Header).Pointer()) // the very map
					is.Equal(r.ContentLength, before.ContentLength)
					is.Equal(r.Host, before.Host)
					is.Equal(r.Close, before.Close)
					is.True(r.Context() == before.Context())
					for _, e := range w.Exchanges() { // and every attempt has it all
						is.Equal(e.Method, "POST")
						is.Equal(e.Host, "orders.test")
						is.Equal(e.Query, "q=1")
						is.Equal(e.Header["X-Mine"], []string{"1", "2"})
						is.Equal(e.Header["User-Agent"], nil) // as asked for
						is.Equal(e.ConnSeq, 1)                // Close: each on a connection of its own
						is.Equal(e.Key, w.Exchanges()[0].Key) // one key for all
						is.Equal(string(e.Body), bodyOf(name))
					}
				})
			})
		}
	})
}

// repeatBody answers with what was sent.
func repeatBody(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func bodyOf(name string) string {
	if name == "no body" || name == "nil" {
		return ""
	}
	return "order"
}

// Many requests may share one header map, also when a key is added to each.
func TestOneHeaderMapForManyCalls(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, always(200, "ok"))
	w.On("/").Per("X-Call").Nth(1).Do(httptestx.Unavailable(0)...)
	c := w.client(busy().Breaker(resilient.Off).Budget(resilient.Off))
	header := http.Header{"X-Mine": {"1"}}
	want := header.Clone()
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			r, _ := http.NewRequest("POST", w.URL, strings.NewReader("order"))
			r.Header = header
			resp, err := c.Do(r)
			is.NoErr(err)
			read(t, resp)
		})
	}
	calls.Wait()
	is.Equal(header, want)
	is.Equal(len(w.Ledger().Keys()), 50) // each call has a key of its own
}

func TestEveryAttemptHasARequestOfItsOwn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	seen := map[*http.Request]context.Context{}
	c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		seen[r] = r.Context()
		body := r.Body
		go body.Close() // a transport may go on after it has returned
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	}), busy().Budget(resilient.Off))
	type key struct{}
	r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), key{}, "caller's"), "PUT", w.URL, strings.NewReader("order"))
	resp, err := c.Transport.RoundTrip(r)
	is.NoErr(err)
	is.True(resp.Request == r) // what the caller gets speaks of the caller's
	is.Equal(len(seen), 4)     // four attempts, four requests
	is.True(seen[r] == nil)    // none of them the caller's
	for _, ctx := range seen {
		is.Equal(ctx.Value(key{}), "caller's") // with what the caller's context holds
		is.True(ctx.Err() != nil)              // and none is left running
	}
}

func TestCallersTraceSeesEveryAttempt(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(200)
		}), func(w *world) {
			is := is.New(w.T)
			w.On("/").Script(httptestx.Unavailable(0))
			var mu sync.Mutex
			hooks := map[string]int{}
			hook := func(name string) {
				mu.Lock()
				defer mu.Unlock()
				hooks[name]++
			}
			ctx := httptrace.WithClientTrace(w.Context(), &httptrace.ClientTrace{
				GetConn:              func(string) { hook("GetConn") },
				GotConn:              func(httptrace.GotConnInfo) { hook("GotConn") },
				WroteHeaders:         func() { hook("WroteHeaders") },
				WroteRequest:         func(httptrace.WroteRequestInfo) { hook("WroteRequest") },
				GotFirstResponseByte: func() { hook("GotFirstResponseByte") },
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					is.Equal(h.Get("Link"), "</style.css>")
					hook(http.StatusText(code))
					return nil
				},
			})
			r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
			resp, err := w.client(busy()).Do(r)
			is.NoErr(err)
			read(w.T, resp)
			is.Equal(hooks, map[string]int{
				"GetConn": 2, "GotConn": 2, "WroteHeaders": 2, "WroteRequest": 2, "GotFirstResponseByte": 2, // of two attempts
				"Early Hints": 1, // of the one that had them
			})
		})
	})
}

func TestRequestTrailersAreFilledWhileTheBodyIsSent(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		got := make(chan string, 3)
		p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			got <- r.Trailer.Get("X-Sum")
			if len(got) == 1 {
				w.WriteHeader(503)
			}
		}), func(w *world) {
			is := is.New(w.T)
			r, _ := http.NewRequest("PUT", w.URL, nil)
			r.Trailer = http.Header{"X-Sum": nil}
			r.ContentLength = -1
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("order"), atEOF(func() { r.Trailer.Set("X-Sum", "42") })))
			resp, err := w.client(busy()).Do(r)
			is.NoErr(err)
			read(w.T, resp)
			is.Equal(<-got, "42") // the first attempt
			is.Equal(<-got, "42") // and the retry
		})
	})
}

// atEOF is an empty reader that calls itself at its end.
type atEOF func()

func (f atEOF) Read([]byte) (int, error) { f(); return 0, io.EOF }

func TestExpectContinueSparesTheBody(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(401)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}), func(w *world) {
		is := is.New(w.T)
		base := &http.Transport{DialContext: w.DialContext, ExpectContinueTimeout: time.Hour}
		defer base.CloseIdleConnections()
		c := w.over(base, busy())
		for _, row := range []struct {
			authorization string
			status, read  int
		}{{"", 401, 0}, {"Bearer x", 200, 5}} {
			body := &meter{Reader: strings.NewReader("order")}
			r, _ := http.NewRequest("PUT", w.URL, body)
			r.ContentLength = 5
			r.Header.Set("Expect", "100-continue")
			if row.authorization != "" {
				r.Header.Set("Authorization", row.authorization)
			}
			resp, err := c.Do(r)
			is.NoErr(err)
			is.Equal(resp.StatusCode, row.status)
			read(w.T, resp)
			is.Equal(body.bytes(), row.read) // nothing is read before the server wants it
		}
	})
}

// A meter counts the bytes that are read through it.
type meter struct {
	io.Reader
	mu sync.Mutex
	n  int
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n += n
	return n, err
}

func (m *meter) bytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}
