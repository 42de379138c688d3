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

// Who has left for another host stays there, until he is sent back.
func TestRedirectsElsewhereAreFollowedToTheirEnd(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next := map[string]string{
			"a/v1/start": "http://login/one", "login/one": "/two", "login/two": "three",
			"login/three": "http://nowhere.test/back",
		}[r.Host+r.URL.Path]
		if next != "" {
			http.Redirect(rw, r, next, http.StatusFound)
			return
		}
		_, _ = io.WriteString(rw, r.Host+r.URL.Path)
	}), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: "http://a/v1"})).Get("http://nowhere.test/start")
		is.NoErr(err)
		is.Equal(read(w.T, resp), "a/v1/back")
		is.Equal(w.visited(), "a login login login a")
	})
}

// As without endpoints.
func TestReasonOfTokensThatComeTooLateIsTheSameWithEndpoints(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, places("a")...).Retry(resilient.MaxRetries(3), every(time.Second)).
			RateLimit(resilient.PerMinute(1), resilient.Wait(2*time.Minute)).Timeout(resilient.Total(30 * time.Second)))
		w.served(c, 1, 503)
		is.Equal(w.denials(), []string{"rate_limited"})
	})
}

// A server that adds a slash keeps the query, and with it that of the endpoint.
func TestRedirectDoesNotDoubleTheEndpointsQuery(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(rw, r, r.URL.Path+"/?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		targets(rw, r)
	}), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: "http://a/v1?api=1"})).Get("http://nowhere.test/x?q=2")
		is.NoErr(err)
		is.Equal(read(w.T, resp), "a /v1/x/?api=1&q=2")
	})
}

// A Location that leads to the same place from what the caller asked for is left as the server wrote it.
func TestRedirectIsRewrittenOnlyIfItWouldLeadElsewhere(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, said, seen string }{
		{"http://a", "/next", "/next"},
		{"http://a", "next?x=1#y", "next?x=1#y"},
		{"http://a/v1", "next", "next"},
		{"http://a/v1", "/v1/next", "http://nowhere.test/next"},
		{"http://a/v1", "http://a/v1/next", "http://nowhere.test/next"},
		{"http://a/v1", "/login", "/login"}, // outside of what is the endpoint's
		{"http://a", "http://a/next", "http://nowhere.test/next"},
	} {
		t.Run(row.base+" "+row.said, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Location", row.said) }), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: row.base})).Get("http://nowhere.test/start")
				is.NoErr(err)
				is.Equal(read(w.T, resp), "")
				is.Equal(resp.Header.Get("Location"), row.seen)
			})
		})
	}
}

func TestRedirectToTheEndpointIsKnownHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for base, to := range map[string]string{
		"http://a:80/v1": "http://a/v1/next",
		"http://a/v1":    "http://a:80/v1/next",
		"http://A/v1":    "http://a/v1/next",
	} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/start") {
					http.Redirect(rw, r, to, http.StatusFound)
					return
				}
				_, _ = io.WriteString(rw, r.URL.Path)
			}), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: base, Header: http.Header{"X-Key": {"k"}}})).Get("http://nowhere.test/start")
				is.NoErr(err)
				is.Equal(read(w.T, resp), "/v1/next")
				is.Equal(w.Exchanges()[1].Header.Get("X-Key"), "k")
			})
		})
	}
}
