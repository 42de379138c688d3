// Package scale holds tests of what is large: many clients, many authorities, many calls at once, and calls for a long
// time. What must not grow is looked at in several sizes; the benchmarks print the same figures as curves. The sizes are
// small unless RESILIENT_SCALE is set.
package scale_test

import (
	"net/http"
	"os"
	"runtime"
	"testing"

	"github.com/a-seed-e0941262/resilient"
)

// large reports whether there is time for the full sizes.
func large() bool { return os.Getenv("RESILIENT_SCALE") != "" }

// A stub answers at once, without a body.
type stub struct{}

func (stub) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// transport is what b builds.
func transport(tb testing.TB, b resilient.Builder) http.RoundTripper {
	tb.Helper()
	rt, err := b.BuildTransport()
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

// request is a GET of a URL.
func request(tb testing.TB, url string) *http.Request {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// call makes a call that has to succeed.
func call(tb testing.TB, rt http.RoundTripper, r *http.Request) {
	resp, err := rt.RoundTrip(r)
	if err != nil {
		tb.Fatal(err)
	}
	_ = resp.Body.Close()
}

// heap is how many bytes are in use, garbage left out.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools held goes with the second one
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
