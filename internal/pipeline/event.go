package pipeline

import (
	"net/http"
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
	Limit      Limit
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

// The functions that tell of what every attempt and call does are not to be inlined:
// an Event is large, and would be on the stack all the time that the transport waits.

//go:noinline
func (k *call) attempted(kind Kind) { k.emit(Event{Kind: kind, Attempt: k.lastAttempt()}) }

//go:noinline
func (k *call) redispatched() {
	failed := k.lastAttempt()
	k.last = outcome{} // of which nothing stands if the rest panics
	k.emit(Event{Kind: Redispatched, Attempt: failed})
}

//go:noinline
func (k *call) done(resp *http.Response, err error) {
	k.emit(Event{
		Kind: CallDone, Attempts: int(k.sent), Duration: k.since(k.start),
		Attempt: Attempt{Request: k.req, Response: resp, Err: err},
	})
}

// changed tells of a breaker's transition, if it is one.
func (k *call) changed(t gate.Transition) {
	if !t.Changed() {
		return
	}
	e := Event{Kind: BreakerChanged, Change: t, Endpoint: k.at()} // by the time it is told, the call may be elsewhere
	k.lane().Tell(t, func() { k.emit(e) })
}

// waited tells of a wait at a gate that is over, however it ended.
func (k *call) waited(g Gate, since time.Duration) {
	k.emit(Event{Kind: Waited, Gate: g, Duration: k.since(since)})
}

// reject counts and tells of a refusal and returns its error.
func (k *call) reject(g Gate, retryAfter time.Duration, causes ...error) error {
	k.state.rejected[g].Add(1)
	k.emit(Event{Kind: Rejected, Gate: g, Delay: retryAfter})
	return k.Errors.Rejected(g, retryAfter, causes...)
}
