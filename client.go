package resilient

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// transport is the RoundTripper behind a built client.
type transport struct {
	base     http.RoundTripper
	pipeline *pipeline.Pipeline
}

// RoundTrip performs one call. See the package comment for what it adds to the
// base transport, and RejectedError and the Err variables for what it can
// return that the base would not.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.pipeline.RoundTrip(req)
	if err != nil && req.Cancel != nil && errors.Is(req.Context().Err(), context.DeadlineExceeded) { //nolint:staticcheck // see awaitCancel
		awaitCancel(req.Cancel) //nolint:staticcheck // see there
	}
	return resp, err
}

// awaitCancel gives the Timeout of an [http.Client] the time to be noticed. It ends a request twice, by its context and,
// from a timer of its own, by Request.Cancel; only after the second does the client's error say that it was Client.Timeout.
func awaitCancel(cancelled <-chan struct{}) {
	const enough = 20 * time.Millisecond
	timer := time.NewTimer(enough) //nolint:forbidigo // the timer that is waited for is on the real clock, too
	defer timer.Stop()
	select {
	case <-cancelled:
	case <-timer.C:
	}
}

// CloseIdleConnections forwards to the base: http.Client.CloseIdleConnections
// looks for it here and would do nothing without it.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Unwrap returns the base transport, the one that calls are sent through.
func (t *transport) Unwrap() http.RoundTripper { return t.base }
