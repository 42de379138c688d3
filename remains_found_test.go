package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// What is left of calls is found, so that no client test has to look for it.
func TestWhatIsLeftOfCallsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(w *world) (tidy func())
		found []string
	}{
		"nothing": {
			func(w *world) func() { read(w.T, got(w, w.client(narrow(0)))); return func() {} }, nil,
		},
		"an open response": {
			func(w *world) func() { return closing(got(w, w.client(narrow(0)))) },
			[]string{`client "orders" : 1 permits and 0 queued calls`, "an attempt whose context has not ended", "1 connections that are in use"},
		},
		"a body that stands still": {
			func(w *world) func() {
				resp := got(w, w.client(bounded(resilient.Total(time.Minute), resilient.TotalIncludesBody(true))))
				return closing(resp)
			},
			[]string{"1 timers", "an attempt whose context has not ended", "1 connections that are in use"},
		},
		"the response of a function": {
			func(w *world) func() { return closing(got(w, w.over(roundTripper(hello), bounded()))) },
			[]string{"a response body that was closed 0 times, want once", "an attempt whose context has not ended"},
		},
		"a request body that nobody closes": {
			func(w *world) func() {
				body := track("order")
				c := &http.Client{Transport: &entrance{roundTripper(unread), &w.remains}}
				_, err := c.Post(w.URL, "text/plain", body)
				if err == nil {
					w.Error("the base has no error")
				}
				return func() { body.Close() }
			},
			[]string{"a request body that was closed 0 times, want once"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, strings.Repeat("x", 1<<20)), func(w *world) {
				is := is.New(w.T)
				tidy := c.leave(w)
				is.Equal(w.left(), c.found) // all of it, and nothing else
				tidy()
				is.Equal(w.left(), nil) // all is well
			})
		})
	}
}

func got(w *world, c *http.Client) *http.Response {
	w.Helper()
	resp, err := c.Get(w.URL)
	if err != nil {
		w.Fatal(err)
	}
	return resp
}

func closing(resp *http.Response) func() { return func() { resp.Body.Close() } }

func unread(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
