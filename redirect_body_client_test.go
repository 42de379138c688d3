package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// 307 and 308 keep method and body: http.Client gets a second body from GetBody, and
// without one hands the redirect to the caller. That is so through the library too,
// though it could have the body again.
func TestRedirectsWithABodyAreFollowedAsEver(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, row := range map[string]struct {
			body   func() io.Reader
			status int // of the redirect
			ends   int
			there  bool
		}{
			"307":          {func() io.Reader { return strings.NewReader("order") }, 307, 200, true},
			"308":          {func() io.Reader { return strings.NewReader("order") }, 308, 200, true},
			"307, opaque":  {func() io.Reader { return opaque("order") }, 307, 307, false},
			"308, opaque":  {func() io.Reader { return opaque("order") }, 308, 308, false},
			"308, no body": {func() io.Reader { return nil }, 308, 200, true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, echoing(), func(w *world) {
					is := is.New(w.T)
					here := httptestx.Plan(httptestx.Read, httptestx.Status(row.status, "Location", "/there"))
					w.On("/here").Script(httptestx.Unavailable(0), here, here)
					w.On("/there").Script(httptestx.Unavailable(0))
					for _, c := range []*http.Client{w.client(retrying(every(time.Second))), w.Client()} {
						resp, err := c.Post(w.URL+"/here", "text/plain", row.body())
						is.NoErr(err)
						is.Equal(resp.StatusCode, row.ends) // at the end of the way, or where it goes on
						got, _ := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						want := ""
						if b := row.body(); b != nil {
							all, _ := io.ReadAll(b)
							want = string(all)
						}
						is.True(!row.there || string(got) == want) // with the body, whole
					}
					hops := map[string]int{}
					for _, e := range w.Exchanges() {
						hops[e.Path]++
					}
					// Here: a failure, and a redirect for each client. There: a failure and an answer, and an answer.
					is.Equal(hops["/here"], 3)
					is.Equal(hops["/there"], 3*b2i(row.there))
				})
			})
		}
	})
}

// A redirect that is retried asks GetBody for each attempt, and no body is left open.
func TestRedirectClosesEveryBodyThatItGot(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, echoing(), func(w *world) {
			is := is.New(w.T)
			w.On("/here").Script(httptestx.Unavailable(0), httptestx.Plan(httptestx.Read, httptestx.Status(308, "Location", "/there")))
			w.On("/there").Script(httptestx.Unavailable(0), httptestx.LostResponse)
			var bodies []*trackedBody
			body := func() (io.ReadCloser, error) {
				bodies = append(bodies, track("order"))
				return struct{ io.ReadCloser }{bodies[len(bodies)-1]}, nil // http.Client closes those of hops as well
			}
			first, _ := body()
			r, _ := http.NewRequest("PUT", w.URL+"/here", first)
			r.ContentLength, r.GetBody = 5, body
			resp, err := w.client(retrying(resilient.BufferLimit(0))).Do(r)
			is.NoErr(err)
			is.Equal(read(w.T, resp), "order")
			is.Equal(w.arrived(), 5) // two here and three there
			is.Equal(len(bodies), 5) // each with a body of its own
			synctest.Wait()
			for _, b := range bodies {
				is.True(b.closed() >= 1) // which is closed
			}
		})
	})
}
