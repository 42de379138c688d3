package mutant

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

func errorFaults() []Mutant {
	return []Mutant{
		{Name: "always-fails", Seen: "TestConformanceConcurrent", trip: alwaysFails},
		{Name: "error-wrapped", Seen: "TestTransportReturnsPeekError", trip: failing(func(err error) error {
			return fmt.Errorf("mutant: %w", err)
		})},
		{Name: "error-text-only", Seen: "TestTransportDialPreservesNetOpProxyError", trip: failing(func(err error) error {
			return errors.New(err.Error())
		})},
		{Name: "retries-after-any-error", Seen: "TestConformancePostOnce", trip: retries},
		{Name: "5xx-made-an-error", Seen: "TestConformanceLast5xxIsResponse", trip: serverErrors},
		{Name: "goroutine-leaked", Seen: "TestConformanceConcurrent", trip: leaks},
		{Name: "idle-connections-held", Seen: "TestClientCloseIdleConnections", trip: plain, holds: true},
	}
}

func responseFaults() []Mutant {
	return []Mutant{
		{Name: "upgrade-read-only", Seen: "TestTransportResponseBodyWritableOnProtocolSwitch", trip: answering(readOnly)},
		{Name: "upgrade-without-closewrite", Seen: "TestConformanceUpgradeHalfClose", trip: answering(withoutCloseWrite)},
		{Name: "nobody-wrapped", Seen: "TestNoBodyOnChunked304Response", trip: answering(wrappedNoBody)},
		{Name: "body-buffered", Seen: "TestConformanceStreamingResponse", trip: answering(buffered)},
		{Name: "trailer-missed", Seen: "TestConformanceTrailers", trip: answering(func(r *http.Response) *http.Response {
			early := *r // before the body is read, and the trailer with it
			return &early
		})},
		{Name: "body-not-closed", Seen: "TestTransportCloseResponseBody", trip: answering(func(r *http.Response) *http.Response {
			r.Body = io.NopCloser(r.Body)
			return r
		})},
		{Name: "body-drained-by-close", Seen: "TestConformanceCloseDoesNotDrain", trip: answering(func(r *http.Response) *http.Response {
			r.Body = drainer{r.Body}
			return r
		})},
	}
}

func alwaysFails(_ http.RoundTripper, req *http.Request) (*http.Response, error) {
	if hasBody(req) {
		_ = req.Body.Close()
	}
	return nil, errors.New("mutant: always fails")
}

func retries(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	for try := 0; err != nil && try < 2 && req.Context().Err() == nil; try++ {
		resp, err = base.RoundTrip(req)
	}
	return resp, err
}

func serverErrors(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(req)
	if err == nil && resp.StatusCode >= 500 {
		resp.Body.Close()
		return nil, errors.New("mutant: " + resp.Status)
	}
	return resp, err
}

func leaks(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	go func() { <-make(chan int) }()
	return base.RoundTrip(req)
}

// A reader hides what else a body can do.
type reader struct{ io.ReadCloser }

func readOnly(resp *http.Response) *http.Response {
	resp.Body = reader{resp.Body}
	return resp
}

func withoutCloseWrite(resp *http.Response) *http.Response {
	if connection, ok := resp.Body.(io.ReadWriteCloser); ok {
		resp.Body = struct{ io.ReadWriteCloser }{connection}
	}
	return resp
}

func wrappedNoBody(resp *http.Response) *http.Response {
	if resp.Body == http.NoBody {
		resp.Body = reader{http.NoBody}
	}
	return resp
}

func buffered(resp *http.Response) *http.Response {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failingReader{err}))
	return resp
}

type drainer struct{ io.ReadCloser }

func (d drainer) Close() error {
	_, _ = io.Copy(io.Discard, d.ReadCloser)
	return d.ReadCloser.Close()
}
