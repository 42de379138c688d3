package gate_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

func TestBreakerAdmitsOneProbeOfManyAtOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		is := is.New(t)
		b, _ := opened(0)
		var admitted, changes atomic.Int64
		together(func(*rand.Rand) {
			a := b.Admit(15 * sec)
			if a.Admitted {
				admitted.Add(1)
			}
			if a.Transition.Changed() {
				changes.Add(1)
			}
		})
		is.Equal(admitted.Load(), int64(1)) // exactly one probe
		is.Equal(changes.Load(), int64(1))  // and one who reports the change
	}
}

func TestBreakerIgnoresOutcomesOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	for _, late := range []gate.Outcome{gate.Success, gate.Failure, gate.Ignored} {
		is := is.New(t)
		b := gate.NewBreaker(workshop())
		slow := b.Admit(0).Ticket // sent while closed, and still on its way through all that follows
		unchanged := func(now time.Duration) {
			before := b.Stats(now)
			is.Equal(b.Settle(now, slow, late), gate.Transition{}) // a late outcome changes no state
			is.Equal(b.Stats(now), before)                         // and no counts
		}
		play(b, 0, "FFFFFFFFFF")
		unchanged(0) // open
		first := b.Admit(15 * sec).Ticket
		unchanged(15 * sec)                                           // half-open, a probe pending
		is.Equal(b.Settle(16*sec, first, gate.Failure).To, gate.Open) // the probe itself still counts
		unchanged(16 * sec)                                           // open again
		slow = first
		unchanged(16 * sec) // the settled probe, settled once more
		second := b.Admit(31 * sec).Ticket
		unchanged(31 * sec) // the first probe cannot speak for the second
		b.Settle(31*sec, second, gate.Success)
		unchanged(31 * sec) // closed
		slow = second
		unchanged(31 * sec) // the second probe, settled once more
		slow = gate.Ticket{}
		unchanged(31 * sec) // no ticket at all
	}
}

func TestBreakerGivesThePlaceOfAnIgnoredProbeToTheNextCaller(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, _ := opened(0)
	gone := b.Admit(15 * sec).Ticket
	is.Equal(b.Settle(16*sec, gone, gate.Ignored), gate.Transition{}) // neither closed nor open
	is.Equal(b.State(16*sec), gate.HalfOpen)                          // still half-open
	is.Equal(b.Stats(16*sec).RetryAfter, time.Duration(0))            // and the next one is welcome
	next := b.Admit(16 * sec)
	is.True(next.Admitted && next.Ticket.Probe())                         // which is the probe
	is.Equal(next.Transition, gate.Transition{})                          // without another change to half-open
	is.True(!b.Admit(16 * sec).Admitted)                                  // and the only one
	is.Equal(b.Settle(17*sec, gone, gate.Success), gate.Transition{})     // a spent ticket does not close
	is.Equal(b.Settle(17*sec, next.Ticket, gate.Success).To, gate.Closed) // the probe does
}

func TestBreakerGivesThePlaceOfASilentProbeToTheNextCaller(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, _ := opened(0)
	silent := b.Admit(15 * sec).Ticket
	is.Equal(b.Admit(35*sec-1), gate.Admission{State: gate.HalfOpen}) // the timeout is not over; the guess of one break is
	is.Equal(b.Stats(35*sec-1).State, gate.HalfOpen)                  // to the last moment
	next := b.Admit(35 * sec)
	is.True(next.Admitted && next.Ticket.Probe())                       // the timeout is over
	is.True(!b.Admit(35 * sec).Admitted)                                // for one caller
	is.Equal(b.Settle(36*sec, silent, gate.Failure), gate.Transition{}) // who is late does not count
	is.Equal(b.Settle(36*sec, silent, gate.Success), gate.Transition{}) // either way
	is.Equal(b.Admit(36*sec).RetryAfter, 14*sec)                        // one break from the new probe's start
	opened := b.Settle(37*sec, next.Ticket, gate.Failure)
	is.Equal(opened.HalfOpens, uint64(1)) // two probes of one half-open are one break
}

func TestBreakerTellsWhenAProbeIsDueEvenIfItsTimeoutIsShorterThanTheBreak(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := workshop()
	c.ProbeTimeout = 5 * sec
	b := gate.NewBreaker(c)
	play(b, 0, "FFFFFFFFFF")
	b.Admit(15 * sec)
	is.Equal(b.Stats(20*sec-1).RetryAfter, 10*sec+1)       // one break from the probe's start
	is.Equal(b.Stats(20*sec).RetryAfter, time.Duration(0)) // but whoever would be admitted need not wait
}
