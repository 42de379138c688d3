package gate

import (
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
)

// The steps of the breaker's state machine. Every method here wants the lock held and the time clamped.

// count takes the outcome of an attempt admitted while closed, and reports whether it opens the breaker. Only a failure
// does: successes that bring the outcomes up to the minimum do not, whatever the ratio is by then.
func (b *Breaker) count(now time.Duration, o Outcome) bool {
	switch o {
	case Success:
		b.outcomes.Add(now, ring.Tally{Successes: 1})
	case Failure:
		b.outcomes.Add(now, ring.Tally{Failures: 1})
		sum := b.outcomes.Sum(now)
		return sum.Total() >= b.config.Minimum && b.ratio.reached(sum.Failures, sum.Total())
	}
	return false
}

// probeDue reports whether the next caller is the probe: the break is over, or the last probe has given its place back
// or lost it.
func (b *Breaker) probeDue(now time.Duration) bool {
	switch b.state {
	case Open:
		return now-b.began >= b.length
	case HalfOpen:
		return !b.probing || now-b.began >= b.length
	default:
		return false
	}
}

// probe admits the probe. Each has a generation of its own, so that one which lost its place cannot speak for the one
// that took it.
func (b *Breaker) probe(now time.Duration) Admission {
	var change Transition
	if b.state == Open {
		b.halfOpens++
		change = b.enter(now, HalfOpen)
	} else {
		b.generation++
		b.began = now
	}
	b.probing, b.length = true, b.config.ProbeTimeout
	return Admission{
		Admitted:   true,
		Ticket:     Ticket{generation: b.generation, probe: true},
		State:      HalfOpen,
		Transition: change,
	}
}

// settleProbe takes the outcome of the pending probe.
func (b *Breaker) settleProbe(now time.Duration, o Outcome) Transition {
	switch o {
	case Success:
		return b.enter(now, Closed)
	case Failure:
		return b.enter(now, Open)
	default:
		b.probing = false
		b.generation++ // the ticket is spent: settled once more, it changes nothing
		return Transition{}
	}
}

// enter changes the state. Closing forgets the outcomes and the breaks before.
func (b *Breaker) enter(now time.Duration, to BreakerState) Transition {
	sum := b.outcomes.Sum(now)
	b.changes++
	change := Transition{
		From:       b.state,
		To:         to,
		Number:     b.changes,
		Generation: b.generation + 1,
		Requests:   sum.Total(),
		Failures:   sum.Failures,
		HalfOpens:  b.halfOpens,
	}
	b.state, b.generation, b.began = to, change.Generation, now
	b.closed.Store(0)
	switch to {
	case Open:
		b.length = b.config.Break
		change.Break = b.length
	case Closed:
		b.outcomes.Reset()
		b.halfOpens = 0
		b.closed.Store(b.generation)
	}
	return change
}

// stateAt returns the state by the clock.
func (b *Breaker) stateAt(now time.Duration) BreakerState {
	if b.state == Open && b.probeDue(now) {
		return HalfOpen
	}
	return b.state
}

// retryAfter returns how long a caller that is refused now should wait. While a probe is pending that is a guess: one
// more break from when it was sent, as if it were to fail at once.
func (b *Breaker) retryAfter(now time.Duration) time.Duration {
	elapsed := now - b.began
	switch {
	case b.probeDue(now):
		return 0
	case b.state == Open:
		return b.length - elapsed
	case b.state == HalfOpen:
		return max(b.config.Break-elapsed, 0)
	default:
		return 0
	}
}

// clamp returns the time, or the latest one seen if the clock went back.
func (b *Breaker) clamp(now time.Duration) time.Duration {
	b.latest = max(b.latest, now)
	return b.latest
}
