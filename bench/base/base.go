// Package base has transports that do nothing, so that what a client adds can be seen.
package base

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// Stub answers at once. It reads the request's body, as any transport does, and allocates the response.
type Stub struct{}

// RoundTrip returns an empty 200.
func (Stub) RoundTrip(r *http.Request) (*http.Response, error) {
	swallow(r)
	return answer(r, empty{}), nil
}

func swallow(r *http.Request) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

// LikeTransport answers at once, too, but does to the request's context what http.Transport does: it derives one of its
// own from it, looks at Done, and ends it with the response's body.
type LikeTransport struct{}

// RoundTrip returns an empty 200.
func (LikeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	select {
	case <-ctx.Done():
		cancel(nil)
		return nil, context.Cause(ctx)
	default:
	}
	swallow(r)
	return answer(r, cancelling{cancel}), nil
}

// Endless answers with a body that never ends and costs nothing to read.
type Endless struct{}

// RoundTrip returns a 200 with that body.
func (Endless) RoundTrip(r *http.Request) (*http.Response, error) { return answer(r, zeros{}), nil }

// Held answers when the request's context ends, or when it is told to.
type Held struct{ Release chan struct{} }

// RoundTrip waits.
func (h Held) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-h.Release:
		return answer(r, empty{}), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func answer(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: -1, Request: r,
	}
}

//nolint:gochecknoglobals // only read
var header = http.Header{"Content-Type": {"text/plain"}}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }
func (empty) Close() error             { return nil }

type cancelling struct{ cancel context.CancelCauseFunc }

func (cancelling) Read([]byte) (int, error) { return 0, io.EOF }

func (c cancelling) Close() error {
	c.cancel(nil)
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
func (zeros) Close() error               { return nil }

// Kilobyte is a request body.
//
//nolint:gochecknoglobals // only read
var Kilobyte = strings.Repeat("x", 1024)
