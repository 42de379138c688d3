package resilient

import (
	"net/http"
	"sync/atomic"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// transport is the RoundTripper behind a built client.
type transport struct {
	base http.RoundTripper
	live atomic.Pointer[settings]
}

// settings are what a transport goes by. A call keeps those that it began with.
type settings struct {
	pipeline         *pipeline.Pipeline
	rejectAsResponse bool
	observers        []Observer
}

// RoundTrip performs one call. See the package comment for what it adds to the
// base transport, and RejectedError and the Err variables for what it can
// return that the base would not.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.live.Load()
	resp, err := s.pipeline.RoundTrip(req)
	if s.rejectAsResponse && err != nil {
		return asResponse(req, err)
	}
	return resp, err
}

// CloseIdleConnections forwards to the base: http.Client.CloseIdleConnections
// looks for it here and would do nothing without it.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// CancelRequest ends the call of a request that was given to RoundTrip. It is
// what callers from before contexts have; net/http's transport deprecates it and
// keeps it, and so does this one.
func (t *transport) CancelRequest(req *http.Request) { t.live.Load().pipeline.CancelRequest(req) }

// Unwrap returns the base transport, the one that calls are sent through.
func (t *transport) Unwrap() http.RoundTripper { return t.base }
