package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestCostDecidesHowManyTokensAreTaken(t *testing.T) {
	t.Parallel()
	five := resilient.Cost(func(*http.Request) int { return 5 })
	of := func(n int) func(context.Context) context.Context {
		return func(ctx context.Context) context.Context { return resilient.WithCost(ctx, n) }
	}
	same := func(ctx context.Context) context.Context { return ctx }
	for name, row := range map[string]struct {
		cost    resilient.RateLimitOption
		context func(context.Context) context.Context
		taken   int
		text    string
	}{
		"one by itself":         {nil, same, 1, ""},
		"of the function":       {five, same, 5, ""},
		"of the context":        {nil, of(7), 7, ""},
		"of the context first":  {five, of(7), 7, ""},
		"nothing":               {resilient.Cost(func(*http.Request) int { return 0 }), same, 0, ""},
		"nothing by context":    {five, of(0), 0, ""},
		"all of it":             {nil, of(10), 10, ""},
		"more than it holds":    {nil, of(11), 0, `resilient: client "orders": rate limit reached: it costs 11 tokens, and the rate limit holds 10 at most`},
		"negative":              {resilient.Cost(func(*http.Request) int { return -1 }), same, 0, `resilient: client "orders": a cost of -1 tokens, by RateLimit(Cost) or WithCost: must be 0 or more`},
		"negative by context":   {five, of(-3), 0, `resilient: client "orders": a cost of -3 tokens, by RateLimit(Cost) or WithCost: must be 0 or more`},
		"the inner one of two":  {nil, func(ctx context.Context) context.Context { return of(3)(of(9)(ctx)) }, 3, ""},
		"as far as an int goes": {nil, of(1 << 62), 0, `resilient: client "orders": rate limit reached: it costs 4611686018427387904 tokens, and the rate limit holds 10 at most`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				b := metered(resilient.Burst(10), resilient.Wait(time.Hour)).Retry(resilient.MaxRetries(3), every(time.Second))
				if row.cost != nil {
					b = b.RateLimit(row.cost)
				}
				c := w.client(b)
				begin := time.Now()
				_, err := w.callWith(row.context(w.Context()), c)
				is.Equal(err == nil, row.text == "")
				is.True(err == nil || strings.HasSuffix(err.Error(), `": `+row.text)) // with both numbers
				is.Equal(time.Since(begin), time.Duration(0))                         // waiting would not help
				is.Equal(w.arrived() == 1, row.text == "")                            // nor does a retry
				b = metered(resilient.Burst(10))                                      // which does not wait
				is.Equal(w.missing(w.client(b), 10), row.taken)
			})
		})
	}
}

// Refused for good is refused by the rate limit, at no time. A negative cost is a bug of the caller's.
func TestCostThatCanNeverBePaidIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(10)))
		_, err := w.callWith(resilient.WithCost(w.Context(), 11), c)
		is.True(errors.Is(err, resilient.ErrRateLimited))
		is.Equal(rejection(err).RetryAfter, time.Duration(0)) // never
		is.Equal(len(eventsOf[resilient.Rejected](w)), 1)
		_, err = w.callWith(resilient.WithCost(w.Context(), -1), c)
		is.True(!errors.Is(err, resilient.ErrRateLimited)) // it has nothing to do with the limit
		is.Equal(len(eventsOf[resilient.Rejected](w)), 1)
		is.Equal(len(eventsOf[resilient.CallDone](w)), 2)
	})
}

func TestCostReadsACopyOfTheBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 10)
	for name, row := range map[string]struct {
		body   string
		length int64 // set by hand; 0 is unknown
		again  bool  // it has GetBody
		off    bool  // no retries
		sees   string
	}{
		"with GetBody":              {body: long, length: 100, again: true, sees: long},
		"with GetBody, retries off": {body: long, length: 100, again: true, off: true, sees: long},
		"opaque":                    {body: "order", length: 5, sees: "order"},
		"opaque, of unknown length": {body: "order", sees: "order"},
		"opaque, retries off":       {body: "order", length: 5, off: true},
		"as long as is kept":        {body: long[:64], sees: long[:64]},
		"a byte longer":             {body: long[:65], sees: long[:64]},
		"longer":                    {body: long, sees: long[:64]},
		"longer, and known to be":   {body: long, length: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []received
			bubble(t, receiving(1, &got), func(w *world) {
				is := is.New(w.T)
				bodies := []*trackedBody{track(row.body)}
				r, _ := http.NewRequest("PUT", w.URL, bodies[0])
				r.ContentLength = row.length
				if row.again {
					r.GetBody = func() (io.ReadCloser, error) {
						bodies = append(bodies, track(row.body))
						return bodies[len(bodies)-1], nil
					}
				}
				sees := ""
				b := metered(resilient.Burst(10), resilient.Cost(func(r *http.Request) int {
					seen, err := io.ReadAll(r.Body)
					is.NoErr(err)
					is.True(r.GetBody == nil) // one copy is enough
					sees = string(seen)
					return 1
				}))
				if !row.off {
					b = b.Retry(resilient.MaxRetries(1), every(0), resilient.BufferLimit(64))
				}
				resp, err := w.client(b).Do(r)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(sees, row.sees)
				for _, g := range got {
					is.Equal(g.body, row.body) // each attempt has sent all of it
				}
				repeated := row.again || len(row.body) <= 64
				is.Equal(len(got) == 2, repeated && !row.off) // and looking at it has not cost the retry
				for _, b := range bodies {
					is.Equal(b.closed(), 1)
				}
			})
		})
	}
}

// The GetBody of some SDKs gives no copy: it winds the one body back, which has no Close.
func TestCostReadsABodyThatIsWoundBack(t *testing.T) {
	t.Parallel()
	var got []received
	bubble(t, receiving(1, &got), func(w *world) {
		is := is.New(w.T)
		body := strings.NewReader("order")
		r, _ := http.NewRequest("PUT", w.URL, io.NopCloser(body))
		r.ContentLength = 5
		r.GetBody = func() (io.ReadCloser, error) {
			_, err := body.Seek(0, io.SeekStart)
			return io.NopCloser(body), err
		}
		sees := ""
		resp, err := w.client(metered(resilient.Burst(10), resilient.Cost(func(r *http.Request) int {
			seen, _ := io.ReadAll(r.Body)
			sees = string(seen)
			return 1
		})).Retry(resilient.MaxRetries(1), every(0))).Do(r)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(sees, "order") // the function has read it
		is.Equal(len(got), 2)
		is.Equal(got[0].body, "order") // and the first attempt has sent it all the same
		is.Equal(got[1].body, "order") // as the second has
	})
}

// Some wind a file back, which can't be read once it is closed: of that, who doesn't look at the body takes nothing.
func TestCostThatDoesNotLookAtTheBodyAsksForNoCopy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "order")
	is.New(t).NoErr(os.WriteFile(file, []byte("order"), 0o600))
	var got []received
	bubble(t, receiving(0, &got), func(w *world) {
		is := is.New(w.T)
		body, err := os.Open(file)
		is.NoErr(err)
		r, _ := http.NewRequest("PUT", w.URL, body)
		r.ContentLength = 5
		r.GetBody = func() (io.ReadCloser, error) {
			_, err := body.Seek(0, io.SeekStart)
			return body, err
		}
		resp, err := w.client(metered(resilient.Burst(10), resilient.Cost(func(*http.Request) int { return 1 }))).Do(r)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(got[0].body, "order")
	})
}

// Whatever a function does to its copy, the request is as it was.
func TestCostMayTreatItsCopyBadly(t *testing.T) {
	t.Parallel()
	var kept io.Reader
	for name, f := range map[string]func(*http.Request){
		"not read":     func(*http.Request) {},
		"read a bit":   func(r *http.Request) { _, _ = io.ReadFull(r.Body, make([]byte, 2)) },
		"closed":       func(r *http.Request) { _ = r.Body.Close() },
		"kept":         func(r *http.Request) { kept = r.Body },
		"put away":     func(r *http.Request) { r.Body = nil },
		"other URL":    func(r *http.Request) { r.URL = nil },
		"other name":   func(r *http.Request) { r.Method = "GET" },
		"closed twice": func(r *http.Request) { _, _ = r.Body.Close(), r.Body.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var got []received
			bubble(t, receiving(1, &got), func(w *world) {
				is := is.New(w.T)
				body := track("order")
				r, _ := http.NewRequest("PUT", w.URL, body)
				b := metered(resilient.Burst(10), resilient.Cost(func(r *http.Request) int { f(r); return 1 }))
				resp, err := w.client(b.Retry(resilient.MaxRetries(1), every(0))).Do(r)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(len(got), 2)
				is.Equal(got[0].body, "order")
				is.Equal(got[1].body, "order")
				is.Equal(body.closed(), 1)
				if name == "kept" {
					_, err := kept.Read(make([]byte, 1))
					is.True(err != nil) // its time is over
				}
			})
		})
	}
}

// A body that fails is the caller's own affair, also when it fails under the eyes of the function.
func TestCostOfABodyThatFails(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		gone := errors.New("the disk is gone")
		body := &trackedBody{Reader: io.MultiReader(strings.NewReader("or"), errReader{gone})}
		r, _ := http.NewRequest("PUT", w.URL, body)
		var seen error
		c := w.client(metered(resilient.Cost(func(r *http.Request) int {
			_, seen = io.ReadAll(r.Body)
			return 1
		})).Retry(resilient.MaxRetries(3), every(0)))
		_, err := c.Do(r)
		is.True(errors.Is(err, gone))
		is.True(errors.Is(seen, gone))
		is.Equal(body.closed(), 1)
		is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0)
	})
}

type errReader struct{ error }

func (e errReader) Read([]byte) (int, error) { return 0, e.error }

func TestCostSeesTheRequest(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Cost(func(r *http.Request) int {
			is.Equal(r.Method, "POST")
			is.Equal(r.URL.Path, "/orders")
			is.Equal(r.Header.Get("X-Mine"), "mine")
			is.Equal(r.Body, http.NoBody) // never nil, as in a server
			is.Equal(r.Context().Value(contextKey{}), "value")
			return 1
		})))
		r, _ := http.NewRequestWithContext(context.WithValue(w.Context(), contextKey{}, "value"), "POST", w.URL+"/orders", nil)
		r.Header.Set("X-Mine", "mine")
		resp, err := c.Do(r)
		is.NoErr(err)
		read(w.T, resp)
	})
}

type contextKey struct{}
