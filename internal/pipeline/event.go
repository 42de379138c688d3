package pipeline

import (
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// An Event is a decision that was taken. It leaves the pipeline on the call's
// goroutine, with the caller's context, after every lock is released.
type Event struct {
	Kind       Kind
	Authority  string
	Attempt    Attempt
	Delay      time.Duration
	RetryAfter bool
	Reason     Reason
	Gate       Gate
	Endpoint   string
	Change     gate.Transition
	Attempts   int
	Duration   time.Duration
}

func (k *call) emit(e Event) {
	if k.tell == nil {
		return
	}
	e.Authority = k.state.Authority
	k.tell(e)
}

// changed tells of a breaker's transition, if it is one.
func (k *call) changed(t gate.Transition) {
	e := Event{Kind: BreakerChanged, Change: t, Endpoint: k.at()} // by the time it is told, the call may be elsewhere
	k.lane.Tell(t, func() { k.emit(e) })
}

// reject counts and tells of a refusal and returns its error.
func (k *call) reject(g Gate, retryAfter time.Duration, causes ...error) error {
	k.state.rejected[g].Add(1)
	k.emit(Event{Kind: Rejected, Gate: g, Delay: retryAfter})
	return k.Errors.Rejected(g, retryAfter, causes...)
}
