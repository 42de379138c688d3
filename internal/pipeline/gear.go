package pipeline

import (
	"context"
	"net/http/httptrace"
	"time"

	"github.com/jonboulle/clockwork"
)

// A gear is what others hold of an attempt: the function that its timer calls, and
// the hooks of its trace. To make these takes more memory than all the rest of a
// call, so a gear serves one attempt after another.
//
// # Why no function of a gear is ever called for an earlier attempt
//
// An attempt lets go of its gear when the transport has returned, and it is used
// again only if none of its functions can be called any more by then:
//
//   - The timer was stopped before it had fired, and says so. It is on the real clock
//     and outside of a bubble of testing/synctest, to which it would belong for ever:
//     inside, readings of the clock are without a monotonic part.
//   - Nobody has got the trace; or net/http's own transport has, to which a trace is
//     nothing once its hooks were called. It calls GetConn and GotConn before its
//     RoundTrip returns, and WroteHeaders once for each connection that it got, and all
//     of these calls were seen. Over HTTP/2 that one may come late, and a request that
//     a dialler sends with the same context may still be on its way: then the gear goes
//     to the garbage, as it does after every failure.
//
// Whoever asks the attempt's context for a trace afterwards gets none of the gear's.
type gear struct {
	attempt *attempt // whom it serves
	seen    evidence // what the hooks were told
	trace   httptrace.ClientTrace
	whole   *httptrace.ClientTrace // trace with the caller's hooks in it; nil: he has none
	alarm   alarm
	ring    func()
	set     bool // alarm is, for this attempt
	shown   bool // trace was

	told func(*Attempt) // who waits for what comes of the attempt; nil: nobody
}

func newGear() *gear {
	g := &gear{}
	g.ring = func() { g.alarm.ring(g.expire) }
	g.trace = httptrace.ClientTrace{
		GetConn:      func(string) { g.seen.ask() },
		GotConn:      func(c httptrace.GotConnInfo) { g.connected(c) },
		WroteHeaders: func() { g.seen.wrote() },
	}
	return g
}

// equip gives the attempt a gear.
func (k *call) equip(a *attempt) {
	var g *gear
	if k.outside {
		g, _ = k.gears.Get().(*gear)
	}
	if g == nil {
		g = newGear()
	}
	g.attempt, g.seen = a, evidence{own: k.traces, http1: k.http1}
	a.fit(g)
}

// unequip takes the gear from an attempt that has been answered, and whose alarm was
// stopped.
func (k *call) unequip(a *attempt) {
	g := a.gear
	a.fit(nil)
	if g.set && !g.alarm.quiet {
		return
	}
	if a.alarm == &g.alarm {
		a.alarm = nil
	}
	if k.outside && (!g.shown || k.traces && g.seen.settled()) {
		g.attempt, g.whole, g.set, g.shown = nil, nil, false, false
		k.gears.Put(g)
	}
}

// setAlarm sets the alarm for the end of the attempt's time.
func (g *gear) setAlarm(clock clockwork.Clock, d time.Duration) *alarm {
	g.set = true
	if g.alarm.timer == nil {
		g.alarm.timer = clock.AfterFunc(d, g.ring)
	} else {
		g.alarm.again(d)
	}
	return &g.alarm
}

func (g *gear) expire() { g.attempt.call.expire(g.attempt, g.attempt.limit) }

// show returns the trace, with the hooks of the caller's in it if he has one. It is
// called under the lock of the attempt's context.
func (g *gear) show(caller context.Context) *httptrace.ClientTrace {
	g.shown = true
	if httptrace.ContextClientTrace(caller) == nil {
		return &g.trace
	}
	if g.whole == nil {
		ours := g.trace
		g.whole = httptrace.ContextClientTrace(httptrace.WithClientTrace(caller, &ours))
	}
	return g.whole
}
