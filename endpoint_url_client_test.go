package resilient_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// net/http's Client turns the user of a URL into Authorization, and its Transport does not: it is left to us.
func TestUserOfAnEndpointIsItsAuthorization(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, resilient.Endpoint{URL: "http://user:pass@a"}))
		_, err := w.call(c)
		is.NoErr(err)
		is.Equal(w.Exchanges()[0].Header.Get("Authorization"), "Basic dXNlcjpwYXNz")
	})
}

// A server behind a prefix redirects to paths with the prefix, or to whole URLs.
func TestRedirectWithinAnEndpointDoesNotDoubleItsPrefix(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"next", "/v1/next", "http://a/v1/next"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/start") {
					http.Redirect(rw, r, to, http.StatusFound)
					return
				}
				_, _ = io.WriteString(rw, r.Host+r.URL.Path)
			}), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: "http://a/v1"})).Get("http://nowhere.test/start")
				is.NoErr(err)
				is.Equal(read(w.T, resp), "a/v1/next") // and not /v1/v1/next
			})
		})
	}
}

func TestEndpointPrefixComesBeforeAnyPath(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		base string
		url  *url.URL
		want string
	}{
		{"http://a/v1", &url.URL{Scheme: "http", Host: "nowhere.test", Opaque: "//nowhere.test/x%2Fy"}, "a /v1/x%2Fy"},
		{"http://a/v1", &url.URL{Scheme: "http", Host: "nowhere.test", Opaque: "/x%2Fy"}, "a /v1/x%2Fy"},
		{"http://a", &url.URL{Scheme: "http", Host: "nowhere.test", Opaque: "//nowhere.test/x%2Fy"}, "a /x%2Fy"},
		{"http://a/v1", &url.URL{Scheme: "http", Host: "nowhere.test", Path: "x"}, "a /v1/x"},
		{"http://a/v%2F", &url.URL{Scheme: "http", Host: "nowhere.test", Path: "/x"}, "a /v%2F/x"},
	} {
		t.Run(row.want, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(rw, r.Host+" "+r.RequestURI)
			}), func(w *world) {
				is := is.New(w.T)
				r := &http.Request{Method: "GET", URL: row.url, Header: http.Header{}}
				resp, err := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: row.base})).Do(r.WithContext(w.Context()))
				is.NoErr(err)
				is.Equal(read(w.T, resp), row.want)
			})
		})
	}
}
