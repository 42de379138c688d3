package resilient_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A requestPicture is all that can be seen of a request, also what is not exported.
type requestPicture struct {
	shallow         http.Request
	url             url.URL
	header, trailer http.Header
	headerMap       uintptr // a copy of the map is not the map
}

func pictureOf(r *http.Request) requestPicture {
	s := requestPicture{shallow: *r, url: *r.URL, header: r.Header.Clone(), trailer: maps.Clone(r.Trailer)}
	s.headerMap = reflect.ValueOf(r.Header).Pointer()
	return s
}

// assertSame compares deeply; a function can only be compared with nil.
func (s requestPicture) assertSame(t *testing.T, r *http.Request) {
	t.Helper()
	is := is.New(t)
	now := pictureOf(r)
	is.Equal(now.shallow.GetBody == nil, s.shallow.GetBody == nil)
	s.shallow.GetBody, now.shallow.GetBody = nil, nil
	is.True(now.shallow.Body == s.shallow.Body)           // the very body
	is.True(now.shallow.URL == s.shallow.URL)             // the very URL
	is.True(reflect.DeepEqual(now, s))                    // and nothing in it is another
	is.True(now.shallow.Context() == s.shallow.Context()) // the very context
}

// A fate is what becomes of a call.
type fate struct {
	plans [][]httptestx.Step
	build func(*world, resilient.Builder) resilient.Builder
	spoil func(*world)
	ctx   func(context.Context) context.Context
}

func fates() map[string]fate {
	cancelled := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	soon := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	isolated := func(w *world) { _ = w.registry.Isolate("orders") }
	return map[string]fate{
		"answered":            {},
		"retried":             {plans: plans(2, httptestx.Status(503))},
		"retries used up":     {plans: plans(9, httptestx.Status(503))},
		"answer lost":         {plans: plans(9, httptestx.LostResponse...)},
		"attempts time out":   {plans: plans(9, httptestx.Stall...)},
		"redirected":          {plans: plans(1, httptestx.Status(307, "Location", "/there"))},
		"cancelled before":    {ctx: cancelled},
		"deadline in between": {plans: plans(9, httptestx.Stall...), ctx: soon},
		"circuit open":        {spoil: isolated},
		"no endpoint":         {build: withEndpoint, spoil: isolated},
		"at an endpoint":      {build: withEndpoint},
		"too expensive": {build: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.RateLimit(resilient.PerMinute(1), resilient.Cost(func(*http.Request) int { return 2 }))
		}},
		"price is read": {build: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.RateLimit(resilient.PerMinute(100), resilient.Cost(func(r *http.Request) int {
				all, _ := io.ReadAll(r.Body)
				return len(all)
			}))
		}},
	}
}

// Whatever becomes of a call, the caller's request is left as it was, down to what is
// not exported: it may be used for another call.
func TestCallersRequestIsLeftAloneWhateverBecomesOfIt(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, f := range fates() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, http.HandlerFunc(repeatBody), func(w *world) {
					if f.plans != nil {
						w.On("/").Script(f.plans...)
					}
					b := resilient.New("orders").Retry(resilient.MaxRetries(3), resilient.Backoff(0, 0)).Budget().
						Idempotency(resilient.GenerateKeys).Timeout(resilient.PerAttempt(2*time.Second), resilient.BodyIdle(time.Minute))
					if f.build != nil {
						b = f.build(w, b)
					}
					c := w.client(b)
					if f.spoil != nil {
						f.spoil(w)
					}
					ctx := w.Context()
					if f.ctx != nil {
						ctx = f.ctx(ctx)
					}
					r, err := http.NewRequestWithContext(ctx, "POST", w.URL+"/a%2Fb?q=1", strings.NewReader("order"))
					is.New(w.T).NoErr(err) // a request
					r.Header = http.Header{"X-Mine": {"1", "2"}, "User-Agent": nil}
					r.Host, r.Trailer = "orders.test", http.Header{"X-Sum": nil}
					r.SetPathValue("id", "7")
					before := pictureOf(r)
					if resp, err := c.Do(r); err == nil {
						read(w.T, resp)
					}
					synctest.Wait() // a transport may go on after it has returned
					before.assertSame(w.T, r)
				})
			})
		}
	})
}
