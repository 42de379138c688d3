package resilient_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// targets answers with the host and the target that a request arrives with.
func targets(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(rw, r.Host+" "+r.RequestURI)
}

func TestRequestIsJoinedToTheEndpointsURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ base, call, want string }{
		{"http://a", "/x", "a /x"},
		{"http://a/", "/x", "a /x"},
		{"http://a", "", "a /"},
		{"http://a/v1", "", "a /v1"},
		{"http://a/v1", "/", "a /v1/"},
		{"http://a/v1", "/x", "a /v1/x"},
		{"http://a/v1/", "/x/", "a /v1/x/"},
		{"http://a/v1/east", "/x//y", "a /v1/east/x//y"},
		{"http://a:8080/v1", "/x", "a:8080 /v1/x"},
		{"http://[::1]:8080", "/x", "[::1]:8080 /x"},
		{"http://A.Test", "/x", "A.Test /x"},
		{"http://a/v1", "/x%2Fy", "a /v1/x%2Fy"},
		{"http://a/v%2F1", "/x", "a /v%2F1/x"},
		{"http://a/v%2F1", "/x%2Fy", "a /v%2F1/x%2Fy"},
		{"http://a/v%2f1", "/x%2fy", "a /v%2f1/x%2fy"}, // as it was written
		{"http://a/v%201", "/x y", "a /v%201/x%20y"},
		{"http://a/ä", "/ö", "a /%C3%A4/%C3%B6"},
		{"http://a/v1", "/%61", "a /v1/%61"},
		{"http://a/v1", "/..", "a /v1/.."}, // what the caller says; servers clean it
		{"http://a", "/x?q=1", "a /x?q=1"},
		{"http://a", "/x?", "a /x?"},
		{"http://a", "/x?a;b=%zz&c", "a /x?a;b=%zz&c"}, // nothing is parsed
		{"http://a?k=1", "/x", "a /x?k=1"},
		{"http://a/v1?k=1", "/x?q=2&k=3", "a /v1/x?k=1&q=2&k=3"},
		{"http://a?", "/x", "a /x"},
		{"http://a/v1", "/x#part", "a /v1/x"},
	} {
		t.Run(row.want, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(targets), func(w *world) {
				is := is.New(w.T)
				c := w.client(spread(resilient.Ordered, resilient.Endpoint{URL: row.base}))
				r, err := http.NewRequest("GET", "http://nowhere.test"+row.call, nil)
				is.NoErr(err)
				r.Host = "virtual.test"
				resp, err := c.Do(r)
				is.NoErr(err)
				is.Equal(read(w.T, resp), row.want) // Host is the endpoint's as well
				is.True(resp.Request == r)          // the caller's request, as he knows it
				is.Equal(resp.Request.URL.Host, "nowhere.test")
			})
		})
	}
}

// Deployments have keys of their own, and the caller's is not for them.
func TestHeaderOfAnEndpointReplacesTheCallers(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		list := places("a", "b", "c")
		list[0].Header = http.Header{"api-key": {"key of a"}, "X-Both": {"1", "2"}}
		list[1].Header = http.Header{"Api-Key": {"key of b"}}
		c := w.client(spread(resilient.Ordered, list...).Retry(resilient.MaxRetries(2), every(0)))
		r, _ := http.NewRequest("GET", "http://nowhere.test/", nil)
		r.Header = http.Header{"Api-Key": {"the caller's", "twice"}, "X-Both": {"0"}, "X-Mine": {"mine"}}
		resp, err := c.Do(r)
		is.NoErr(err)
		read(w.T, resp)
		got := w.Exchanges()
		is.Equal(got[0].Header["Api-Key"], []string{"key of a"}) // however it was written
		is.Equal(got[0].Header["X-Both"], []string{"1", "2"})
		is.Equal(got[1].Header["Api-Key"], []string{"key of b"})                                                   // a's is not shown to b
		is.Equal(got[1].Header["X-Both"], []string{"0"})                                                           // nor is anything else of a
		is.Equal(got[2].Header["Api-Key"], []string{"the caller's", "twice"})                                      // who has no key of his own gets this one
		is.Equal(got[0].Header["X-Mine"], []string{"mine"})                                                        // the rest is the caller's
		is.Equal(r.Header, http.Header{"Api-Key": {"the caller's", "twice"}, "X-Both": {"0"}, "X-Mine": {"mine"}}) // whose request is as it was
		is.Equal(list[0].Header, http.Header{"api-key": {"key of a"}, "X-Both": {"1", "2"}})
	})
}

// The list is the builder's once it has been given.
func TestEndpointsAreCopied(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		list := places("a")
		list[0].Header = http.Header{"X-Key": {"k"}}
		b := spread(resilient.Ordered, list...)
		list[0].URL = "http://b"
		list[0].Header["X-Key"][0] = "other"
		b.Config().Endpoints.List[0].Header.Set("X-Key", "third")
		w.served(w.client(b), 1, 200)
		is.Equal(w.visited(), "a")
		is.Equal(w.Exchanges()[0].Header.Get("X-Key"), "k")
	})
}

// snapshotOf is all of a request that a Rewrite could reach, but for the body.
func snapshotOf(r *http.Request) *http.Request {
	s := r.Clone(r.Context())
	s.Body, s.GetBody = nil, nil
	return s
}

func TestRewriteSeesARequestOfItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		targets(rw, r)
		_, _ = io.WriteString(rw, " "+r.Header.Get("X-Key")+" "+r.Header.Get("X-Mine"))
	}), func(w *world) {
		is := is.New(w.T)
		w.On("/").Nth(1).Do(httptestx.Status(503))
		var seen []string
		c := w.client(spread(resilient.Ordered, resilient.Endpoint{
			URL: "http://a/v1?k=1", Header: http.Header{"X-Key": {"k"}},
			Rewrite: func(r *http.Request) {
				seen = append(seen, r.URL.String()+" "+r.Host+" "+r.Header.Get("X-Key")+" "+r.Header.Get("X-Mine"))
				r.URL.Path, r.URL.RawPath, r.URL.RawQuery = "/deployments/east", "", "api=2"
				r.Host = "virtual.test"
				r.Header.Set("X-Key", "signed")
				r.Header.Del("X-Mine")
			},
		}).Retry(resilient.MaxRetries(1), every(0)))
		r, _ := http.NewRequest("PUT", "http://user:pass@nowhere.test/x%2Fy?q=2", strings.NewReader("order"))
		r.Header.Set("X-Mine", "mine")
		before := snapshotOf(r)
		resp, err := c.Transport.RoundTrip(r)
		is.NoErr(err)
		is.Equal(read(w.T, resp), "virtual.test /deployments/east?api=2 signed ") // what it made of it
		once := "http://a/v1/x%2Fy?k=1&q=2  k mine"                               // the user was for another host
		is.Equal(seen, []string{once, once})                                      // for each attempt anew, when all else is done
		is.True(reflect.DeepEqual(snapshotOf(r), before))                         // and the caller's is as it was
		is.True(resp.Request == r)                                                // which the response is for
		is.Equal(string(w.Exchanges()[1].Body), "order")                          // body and all
	})
}

// A request without any header is none that Rewrite could not set one of.
func TestRewriteMaySetAHeaderWhereThereIsNone(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.Ordered, resilient.Endpoint{
			URL: "http://a", Rewrite: func(r *http.Request) { r.Header.Set("X-Key", "k") },
		}))
		resp, err := c.Transport.RoundTrip(&http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "nowhere.test", Path: "/"}})
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(w.Exchanges()[0].Header.Get("X-Key"), "k")
	})
}

func TestEveryEndpointGetsTheWholeBody(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func() io.Reader{
		"with GetBody":    func() io.Reader { return bytes.NewBufferString("order") },
		"without GetBody": func() io.Reader { return opaque("order") },
		"none":            func() io.Reader { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				rw.WriteHeader(503)
			}), func(w *world) {
				is := is.New(w.T)
				list := places("a", "b", "c")
				for i := range list {
					list[i].Rewrite = func(*http.Request) {}
				}
				r, _ := http.NewRequest("PUT", "http://nowhere.test/", body())
				resp, err := w.client(spread(resilient.RoundRobin, list...).Retry(resilient.MaxRetries(4), every(0), resilient.BufferLimit(10))).Do(r)
				is.NoErr(err)
				read(w.T, resp)
				want := "order"
				if name == "none" {
					want = ""
				}
				is.Equal(len(w.Exchanges()), 5)
				for _, e := range w.Exchanges() {
					is.Equal(string(e.Body), want) // all of it
					is.Equal(e.Read, httptestx.ReadComplete)
				}
			})
		})
	}
}

// A relative redirect is followed below an endpoint, like the call before it.
func TestRedirectGoesToAnEndpointAgain(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			http.Redirect(rw, r, "/next", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(rw, r.Host+r.URL.Path+" "+string(body))
	}), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(spread(resilient.RoundRobin, places("a", "b")...)).
			Post("http://nowhere.test/start", "text/plain", strings.NewReader("order"))
		is.NoErr(err)
		is.Equal(read(w.T, resp), "b/next order")                       // a hop is a call of its own
		is.Equal(resp.Request.URL.String(), "http://nowhere.test/next") // as the client sees it
		is.Equal(w.visited(), "a b")
	})
}

// Over HTTP/2 and TLS the name that is asked for is the endpoint's.
func TestEndpointsAreCalledOverHTTP2(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(rw, r.Proto+" "+r.Host+" "+r.TLS.ServerName+" "+r.URL.Path+" "+string(body))
	})
	w, plain, _ := overHTTP2(t, handler, resilient.New("plain").Defaults(resilient.None))
	base := plain.Transport.(interface{ Unwrap() http.RoundTripper }).Unwrap() // which connects example.com to the server
	c := w.over(base, spread(resilient.Ordered, resilient.Endpoint{URL: "https://example.com/v1"}))
	resp, err := c.Post("http://nowhere.test/x", "text/plain", strings.NewReader("order"))
	is.NoErr(err)
	is.Equal(read(t, resp), "HTTP/2.0 example.com example.com /v1/x order")
	c.CloseIdleConnections()
}
