package pipeline

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/jonboulle/clockwork"
)

// admitCall gives each call one place of the concurrency limit. The call keeps
// it until it ends, which is when its response's body does.
func admitCall(on bool) stage {
	if !on {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			if err := k.enter(); err != nil {
				return nil, err
			}
			return next(k)
		}
	}
}

// enter takes a permit, after waiting in the queue if there is one. A caller
// who leaves the queue, or whose total timeout ends there, has no permit.
func (k *call) enter() error {
	limit := k.state.Limit
	decision, waiter := limit.Enter()
	switch decision {
	case gate.Admitted:
		k.permit = true
		return nil
	case gate.Refused:
		return k.reject(GateConcurrency, 0)
	}
	defer func() { // also when the wait panics, or ends with the permit just handed over
		if !k.permit && limit.Abandon(waiter) {
			limit.Release()
		}
	}()
	defer k.tick()
	defer k.waited(GateConcurrency, k.state.Now())
	timer := k.expiry()
	defer timer.Stop()
	select {
	case <-waiter.Ready():
		err := k.over(nil) // it may have come too late: then the next in the queue has it
		k.permit = err == nil
		return err
	case <-timer.Chan():
		return k.Errors.TimedOut(LimitTotal, k.Total, nil)
	case <-k.ctx().Done():
	case <-k.leaving(k):
	case <-k.req.Cancel: //nolint:staticcheck // deprecated, but net/http still honours it
	}
	return k.interrupted(nil)
}

// expiry is a timer for the total timeout; without one it never fires.
func (k *call) expiry() timer {
	left, ok := k.remaining()
	if !ok {
		return timer{}
	}
	return timer{k.Clock.NewTimer(left)}
}

// A timer may be none.
type timer struct{ clockwork.Timer }

// Chan returns the channel on which the time is sent; without a timer, nil.
func (t timer) Chan() <-chan time.Time {
	if t.Timer == nil {
		return nil
	}
	return t.Timer.Chan()
}

// Stop stops the timer, if there is one.
func (t timer) Stop() bool { return t.Timer != nil && t.Timer.Stop() }
