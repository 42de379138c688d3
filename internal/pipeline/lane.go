package pipeline

import (
	"sync/atomic"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// A Lane is what all attempts share that go to one place: to one of several
// endpoints, or to wherever the callers' requests say. A gate that is off is nil.
type Lane struct {
	Breaker  *gate.Breaker
	Rate     *gate.Bucket
	Throttle gate.Throttle // of an endpoint

	failure atomic.Pointer[failure] // what the breaker was opened for
	changes sequence                // of the breaker's state, to be told in order
}

// failure boxes an error, for an interface can't be stored atomically.
type failure struct{ err error }

// Tell runs f, which tells of the breaker's transition t, after those that tell
// of the ones before. Every transition must come here, also one that nobody is
// told of; what is no transition is nothing.
func (l *Lane) Tell(t gate.Transition, f func()) {
	if t.Changed() {
		l.changes.run(t.Number, f)
	}
}
