package pipeline

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// An attempt is one dispatch: the request that is sent, the context that ends
// it, and what was seen on the way. Its context lives until its response's
// body ends, never just until RoundTrip returns.
type attempt struct {
	attemptContext
	req   http.Request
	sent  *reader // request body; nil: none
	alarm *alarm  // nil: none, or it was stopped
	start time.Duration
	body  responseBody // its attempt is nil: the response has none
}

// reached is the cause with which a limit on time cancels an attempt.
type reached Limit

func (r reached) Error() string { return "resilient: time limit reached" }

// Timeout is for whoever meets the cause below the pipeline.
func (r reached) Timeout() bool { return true }

func (k *call) newAttempt() *attempt {
	sent := k.body.reader() // first, for GetBody may panic
	a := &k.first
	if k.attempt != nil {
		a = &attempt{}
	}
	k.attempt, k.last = a, outcome{}
	a.call, a.sent, a.start = k, sent, k.now
	k.equip(a)
	if l, at, ok := k.nearest(); ok {
		a.limit = l
		a.alarm = a.gear.setAlarm(k.Clock, at-a.start)
	}
	// Shallow on purpose: the caller's Trailer map is filled while the body is
	// sent, and a deep copy would miss it.
	a.req = *k.req.WithContext(a)
	a.req.Header = k.header
	if k.endpoint != nil {
		k.endpoint.readdress(&a.req)
	}
	if a.sent != nil {
		// Without GetBody net/http can't send the request again on its own.
		a.req.Body, a.req.GetBody = a.sent, nil
		if !k.traces && k.body.again != nil {
			a.req.GetBody = a.sent.another
		}
	}
	return a
}

// expire ends an attempt whose time is over. Over HTTP/1 net/http then waits for
// the Read of the request body that it is in, which may take for ever: if it has
// not returned a moment later, the body is closed, and not sent again.
//
// It may return just now, by itself. Who ends the attempt seals the body and then
// looks for the last alarm; here it is set first, and then the seal looked for: so
// one of the two stops it.
func (k *call) expire(a *attempt, l Limit) {
	if a.sent != nil {
		last := setAlarm(k.Clock, k.Discard.Time, a.sent.giveUp)
		a.sent.last.Store(last)
		if a.sent.ended() {
			last.stop()
		}
	}
	a.cancel(reached(l))
}

// keep makes the end of the response's body the end of the call. It reports
// whether there is a body to wait for.
func (a *attempt) keep() bool {
	return a != nil && a.body.attempt != nil && a.body.hold()
}

// abort ends an attempt whose response nobody will see.
func (a *attempt) abort(resp *http.Response) {
	a.tell(nil)
	a.alarm.stop()
	a.sent.seal() // before the next line: see expire
	a.sent.relax()
	a.cancel(nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
}

// An alarm cancels something after a time, unless it is stopped before.
type alarm struct {
	timer clockwork.Timer
	state atomic.Uint32
	quiet bool // it was stopped, and what the timer would have called never runs
}

const (
	armed uint32 = iota
	stopped
	rung
)

func setAlarm(clock clockwork.Clock, d time.Duration, ring func()) *alarm {
	a := &alarm{}
	a.timer = clock.AfterFunc(d, func() { a.ring(ring) })
	return a
}

// again sets an alarm once more that was stopped in time.
func (a *alarm) again(d time.Duration) {
	a.quiet = false
	a.state.Store(armed)
	a.timer.Reset(d)
}

// ring is what the timer calls.
func (a *alarm) ring(f func()) {
	if a.state.CompareAndSwap(armed, rung) {
		f()
	}
}

// stop reports whether the alarm did not ring, and now never will. It may be
// called again; a nil alarm never rings.
func (a *alarm) stop() bool {
	if a == nil {
		return true
	}
	quiet := a.timer.Stop()
	if a.state.CompareAndSwap(armed, stopped) {
		a.quiet = quiet
		return true
	}
	return a.state.Load() == stopped
}

func (a *alarm) rang() bool { return a != nil && a.state.Load() == rung }
