package pipeline

import (
	"math"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// forever is longer than any delay.
const forever = time.Duration(math.MaxInt64)

// soonest is how long it takes until a retry may be sent, to whichever endpoint, and
// what it is that takes longest there. What a gate would refuse is not scheduled: the
// caller keeps the response that there is, which would be gone by then.
func (k *call) soonest() (time.Duration, Reason) {
	if k.endpoint == nil {
		return k.readyIn(k.lane())
	}
	asked, best, why := false, forever, ReasonCircuitOpen
	for i := range k.places() {
		if wait, reason := k.readyIn(k.Route.Endpoints[i].Lane); wait < best || !asked {
			asked, best, why = true, wait, reason
		}
	}
	return best, why
}

// readyIn is how long it takes until a lane admits an attempt, and what takes longest.
func (k *call) readyIn(l *Lane) (time.Duration, Reason) {
	wait, why := l.Throttle.Until(k.state.Now()), ReasonRetryAfter
	if d := k.shutFor(l); d > wait {
		wait, why = d, ReasonCircuitOpen
	}
	if d := k.dryFor(l); d > wait {
		wait, why = d, ReasonRate
	}
	return wait, why
}

// shutFor is how long a circuit stays open, or has its probe on the way, as far as is
// known.
func (k *call) shutFor(l *Lane) time.Duration {
	if !k.Breaker.On {
		return 0
	}
	s := l.Breaker.Stats(k.state.Now())
	if s.State == gate.Isolated {
		return forever
	}
	return s.RetryAfter
}

// dryFor is how long it takes until an attempt gets tokens, after the longest wait for
// them that is allowed; forever if they come after the end of the call.
func (k *call) dryFor(l *Lane) time.Duration {
	if !k.Rate.On || k.Rate.PerCall {
		return 0
	}
	wait := l.Rate.Wait(k.state.Now(), k.cost())
	if left, ok := k.timeLeft(); ok && wait >= left {
		return forever
	}
	return max(0, wait-k.Rate.Wait)
}

// timeLeft is what is left until the caller's deadline or the total timeout; ok is false
// if there is neither.
func (k *call) timeLeft() (left time.Duration, ok bool) {
	left, ok = k.remaining()
	if at, has := k.ctx().Deadline(); has {
		d := at.Sub(k.Clock.Now())
		if !ok || d < left {
			left, ok = d, true
		}
	}
	return left, ok
}
