package mutant

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

func requestFaults() []Mutant {
	return []Mutant{
		{Name: "body-read-ahead", Seen: "TestTransportFlushesRequestHeader", trip: sending(readAhead)},
		{Name: "body-never-closed", Seen: "TestTransportClosesRequestBody", trip: sending(neverClosed)},
		{Name: "body-closed-twice", Seen: "TestClientCallsCloseOnlyOnce", trip: closedTwice},
		{Name: "caller-header-changed", Seen: "TestConformanceRequestUntouched", trip: sending(changed)},
		{Name: "header-added", Seen: "TestConformanceRequestUntouched", trip: sending(added)},
		// A deep copy has a Trailer map of its own, which the caller does not fill.
		{Name: "trailer-copied", Seen: "TestTrailersClientToServer", trip: sending(func(r *http.Request) *http.Request {
			return r.Clone(r.Context())
		})},
		{Name: "other-request-in-response", Seen: "TestConformanceRequestUntouched", trip: sending(copied)},
	}
}

func contextFaults() []Mutant {
	return []Mutant{
		{Name: "context-detached", Seen: "TestConformanceCauseBeforeHeaders", trip: sending(func(r *http.Request) *http.Request {
			return r.WithContext(context.WithoutCancel(r.Context()))
		})},
		{Name: "context-values-lost", Seen: "TestConformanceTrace", trip: sending(valuesLost)},
		{Name: "cause-lost", Seen: "TestConformanceCauseInBody", trip: sending(causeLost)},
		{Name: "request-cancel-lost", Seen: "TestTransportCancelRequestInDial", trip: sending(cancelLost)},
		{Name: "context-ended-early", Seen: "TestConformanceStreamingResponse", trip: endedEarly},
	}
}

// copied is shallow, as http.Request.WithContext is.
func copied(req *http.Request) *http.Request { return req.WithContext(req.Context()) }

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func readAhead(req *http.Request) *http.Request {
	if !hasBody(req) {
		return req
	}
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	req = copied(req)
	req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failingReader{err}))
	return req
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return 0, io.EOF
}

func neverClosed(req *http.Request) *http.Request {
	if !hasBody(req) {
		return req
	}
	req = copied(req)
	req.Body = io.NopCloser(req.Body)
	return req
}

func closedTwice(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	if hasBody(req) {
		defer req.Body.Close()
	}
	return base.RoundTrip(req)
}

func changed(req *http.Request) *http.Request {
	if req.Header != nil {
		req.Header.Set("X-Attempt", "1")
	}
	return req
}

func added(req *http.Request) *http.Request {
	req = copied(req)
	req.Header = req.Header.Clone()
	return changed(req)
}

func valuesLost(req *http.Request) *http.Request {
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(req.Context(), func() { cancel(context.Cause(req.Context())) })
	return req.WithContext(ctx)
}

func causeLost(req *http.Request) *http.Request {
	ctx, cancel := context.WithCancel(context.WithoutCancel(req.Context()))
	context.AfterFunc(req.Context(), cancel)
	return req.WithContext(ctx)
}

func cancelLost(req *http.Request) *http.Request {
	req = copied(req)
	req.Cancel = nil //nolint:staticcheck // deprecated, but net/http still honours it
	return req
}

// endedEarly takes the end of RoundTrip for the end of the call.
func endedEarly(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	return base.RoundTrip(req.WithContext(ctx))
}
