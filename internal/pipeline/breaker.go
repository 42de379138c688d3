package pipeline

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// admitAttempt lets the circuit breaker decide about each attempt, and tells it
// what became of it.
func admitAttempt(c BreakerConfig) stage {
	if !c.On {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			ticket, err := k.admit()
			if err != nil {
				return nil, err
			}
			defer func() { k.settle(ticket) }()
			return next(k)
		}
	}
}

// admit asks for a ticket, which is to be settled.
func (k *call) admit() (gate.Ticket, error) {
	admission := k.lane().Breaker.Admit(k.now)
	if !admission.Admitted {
		return gate.Ticket{}, k.turnAway(GateBreaker, admission.RetryAfter, k.causes()...)
	}
	k.last = outcome{health: gate.Ignored} // stands if the attempt panics
	told := false
	defer func() {
		if !told {
			k.settle(admission.Ticket)
		}
	}()
	k.changed(admission.Transition)
	told = true
	return admission.Ticket, nil
}

// causes are what a refusal by the breaker goes back to: what opened it, and
// what this call has met itself.
func (k *call) causes() []error {
	var causes []error
	if f := k.lane().failure.Load(); f != nil {
		causes = append(causes, f.err)
	}
	if k.sent > 0 && k.endpoint == nil { // else it may have met that elsewhere
		causes = append(causes, k.problem())
	}
	return causes
}

// problem is the last attempt's outcome as an error.
func (k *call) problem() error {
	if k.last.Response != nil {
		return k.Errors.Status(k.last.Response.StatusCode)
	}
	return k.last.Err
}

// settle reports the attempt's outcome. A break that it causes may be given
// another length: that is done after the gate has decided, not by a callback
// from inside it.
func (k *call) settle(t gate.Ticket) {
	if k.last.Number == 0 { // it has panicked
		k.tick()
	}
	b, now := k.lane().Breaker, k.now
	change := b.Settle(now, t, k.last.health)
	defer func() { k.changed(change) }() // also if the custom duration panics: others may wait for it
	switch {
	case !change.Changed():
	case change.To == gate.Open:
		k.lane().failure.Store(&failure{k.problem()})
		if d := k.breakFor(change); d != change.Break {
			b.Hold(now, change.Generation, d)
			change.Break = d
		}
	case change.To == gate.Closed: // who isolates it later does so for a reason of his own
		k.lane().failure.Store(nil)
	}
}

// breakFor is how long the break is to last.
func (k *call) breakFor(t gate.Transition) time.Duration {
	d := t.Break
	if f := k.Breaker.Duration; f != nil {
		d = max(0, f(Break{Requests: t.Requests, Failures: t.Failures, Breaks: t.HalfOpens, Attempt: k.lastAttempt()}))
	}
	if k.Breaker.UntilRetryAfter {
		if asked, ok := k.askedFor(); ok {
			d = max(d, min(asked, unreasonable)) // one absurd header must not shut the circuit for good
		}
	}
	return d
}
