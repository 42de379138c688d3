package pipeline

import (
	"context"
	"errors"
	"time"
)

// awaitClient gives the Timeout of an http.Client the time to be noticed, once the
// call or its body has failed. It ends a request twice: by its context and, from a
// timer of its own, by Request.Cancel. Only after the second does the client's
// error say that it was Client.Timeout.
func (k *call) awaitClient() {
	const enough = 20 * time.Millisecond
	cancelled := k.req.Cancel //nolint:staticcheck // deprecated, but http.Client sets it
	if cancelled == nil || !errors.Is(k.ctx().Err(), context.DeadlineExceeded) {
		return
	}
	timer := time.NewTimer(enough) //nolint:forbidigo // the timer that is waited for is on the real clock, too
	defer timer.Stop()
	select {
	case <-cancelled:
	case <-timer.C:
	}
}
