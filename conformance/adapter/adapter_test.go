package adapter_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/conformance/adapter"
	"github.com/a-seed-e0941262/resilient/conformance/mutant"
	"github.com/matryer/is"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

func TestVariantsDifferInRetries(t *testing.T) {
	for variant, want := range map[string]int{adapter.NoRetry: 1, adapter.Retry: 4} {
		is := is.New(t)
		sent := 0
		wrapped := adapter.Wrapper(variant)(transport(func(*http.Request) (*http.Response, error) {
			sent++
			return nil, errors.New("unreachable")
		}))
		req, err := http.NewRequest(http.MethodGet, "http://x.example", nil)
		is.NoErr(err) // the request is valid
		_, err = wrapped.RoundTrip(req)
		is.True(err != nil)  // it never works
		is.Equal(sent, want) // and is tried as often as the variant does
	}
	is.New(t).True(adapter.Wrapper(adapter.Baseline) == nil) // nothing at all
}

func TestMutantsPassRequestsOn(t *testing.T) {
	for _, m := range mutant.All() {
		t.Run(m.Name, func(t *testing.T) {
			is := is.New(t)
			base := transport(func(req *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, req.Body)
				is.NoErr(err) // the body can be read
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("answer"))}, nil
			})
			req, err := http.NewRequest(http.MethodPost, "http://x.example", strings.NewReader("question"))
			is.NoErr(err) // the request is valid
			resp, err := adapter.Wrapper(m.Name)(base).RoundTrip(req)
			if m.Name == "always-fails" {
				is.True(err != nil) // as it says
				return
			}
			is.NoErr(err) // the fault is elsewhere
			answer, err := io.ReadAll(resp.Body)
			is.NoErr(err)                      // the answer can be read
			is.Equal(string(answer), "answer") // and is the right one
		})
	}
}
