package differential

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/matryer/is"
)

// The test is able to see a fault: each of these transports has one, but for the first.
func TestFaultOfATransportIsSeen(t *testing.T) {
	t.Parallel()
	for name, trip := range map[string]func(base http.RoundTripper, r *http.Request) (*http.Response, error){
		"none": func(base http.RoundTripper, r *http.Request) (*http.Response, error) { return base.RoundTrip(r) },
		"a header more": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			if r.Header != nil {
				r.Header.Set("X-Attempt", "1")
			}
			return base.RoundTrip(r)
		},
		"the caller's header": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.Header != nil {
				r.Header.Del("X-Mine")
			}
			return base.RoundTrip(r)
		},
		"body read ahead": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.Body != nil && r.ContentLength < 0 {
				b, _ := io.ReadAll(r.Body)
				r.Body.Close()
				r = r.WithContext(r.Context())
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			}
			return base.RoundTrip(r)
		},
		"body left open": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			if r.Body != nil && r.Body != http.NoBody {
				r = r.WithContext(r.Context())
				r.Body = io.NopCloser(r.Body)
			}
			return base.RoundTrip(r)
		},
		"trailers of the request": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			return base.RoundTrip(r.Clone(r.Context())) // a deep copy has none that come later
		},
		"trailers of the response": answering(func(resp *http.Response) *http.Response {
			c := *resp
			return &c
		}),
		"body that can't be written to": answering(func(resp *http.Response) *http.Response {
			resp.Body = struct{ io.ReadCloser }{resp.Body}
			return resp
		}),
		"another length": answering(func(resp *http.Response) *http.Response {
			resp.ContentLength = -1
			return resp
		}),
		"5xx is an error": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if err == nil && resp.StatusCode >= 500 {
				resp.Body.Close()
				return nil, errors.New(resp.Status)
			}
			return resp, err
		},
		"error in other words": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if err != nil {
				err = errors.New("giving up: " + err.Error())
			}
			return resp, err
		},
		"sent twice": func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusServiceUnavailable && r.Body == nil {
				resp.Body.Close()
				return base.RoundTrip(r)
			}
			return resp, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := &run{T: t, wrap: func(base *http.Transport, _ session) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := trip(base, r)
					if resp != nil {
						resp.Request = r // or that would be seen
					}
					return resp, err
				})
			}}
			sessions := uint64(100)
			if name == "none" {
				sessions = 20
			}
			difference := ""
			for n := uint64(0); n < sessions && difference == ""; n++ {
				difference, _ = r.compare(generate(usualSeed, n))
			}
			is.Equal(difference != "", name != "none") // it is told from the bare client, or is not
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(fault func(*http.Response) *http.Response) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		return fault(resp), nil
	}
}

// A difference is told by the simplest session that shows it.
func TestDifferenceIsMadeSimple(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := &run{T: t, wrap: func(base *http.Transport, _ session) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := base.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusNotFound {
				resp.Status = "gone"
			}
			return resp, err
		})
	}}
	for n := uint64(0); ; n++ {
		s := generate(usualSeed, n)
		if d, _ := r.compare(s); d == "" {
			continue
		}
		s = minimise(s, func(s session) bool {
			d, _ := r.compare(s)
			return d != ""
		})
		is.Equal(s.String(), "over HTTP/1.1, settings {}\n"+
			"exchange 1\n  request {}\n  caller  {}\n  answer  {Status: 404}\n") // what it takes, and no more
		return
	}
}
