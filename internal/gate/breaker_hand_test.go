package gate_test

import (
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

func TestBreakerHoldReplacesTheLengthOfTheBreak(t *testing.T) {
	t.Parallel()
	const began = 100 * sec
	for _, row := range []struct {
		name   string
		at     time.Duration // after the break began
		length time.Duration
		want   time.Duration // the break's length in the end
	}{
		{"longer", 0, 60 * sec, 60 * sec},
		{"shorter", 0, 5 * sec, 5 * sec},
		{"measured from the beginning", 3 * sec, 60 * sec, 60 * sec},
		{"shorter than what has passed", 10 * sec, 5 * sec, 10 * sec},
		{"zero", 0, 0, 0},
		{"negative is zero", 0, -sec, 0},
		{"too late: the break is over", 15 * sec, 60 * sec, 15 * sec},
		{"by a clock that went back", -50 * sec, 60 * sec, 60 * sec},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b, change := opened(began)
			b.Hold(began+row.at, change.Generation, row.length)
			end := began + row.want
			if row.want > max(row.at, 0) {
				is.Equal(b.State(end-1), gate.Open) // the break is too short
			}
			is.Equal(b.State(end), gate.HalfOpen) // the break is too long
		})
	}
}

func TestBreakerCanBeHeldOpenForEver(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, change := opened(100 * sec)
	b.Hold(100*sec, change.Generation, math.MaxInt64)
	is.Equal(b.Admit(101*sec).RetryAfter, math.MaxInt64-sec) // the longest break there is, less the second that passed
	is.Equal(b.State(math.MaxInt64), gate.Open)              // its end is after the end of time
}

func TestBreakerHoldIsForOneBreakOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, first := opened(0)
	b.Hold(0, first.Generation-1, sec)
	b.Hold(0, first.Generation+1, sec)
	is.Equal(b.Stats(0).RetryAfter, 15*sec) // a hold of another generation was taken

	probe := b.Admit(15 * sec)
	b.Hold(15*sec, probe.Transition.Generation, 60*sec)
	is.Equal(b.State(15*sec), gate.HalfOpen) // a half-open breaker cannot be held open
	second := b.Settle(16*sec, probe.Ticket, gate.Failure)
	b.Hold(16*sec, first.Generation, 60*sec)
	is.Equal(b.Stats(16*sec).RetryAfter, 15*sec) // the hold of the first break changed the second

	b.Hold(16*sec, second.Generation, 60*sec)
	probe = b.Admit(76 * sec)
	is.True(probe.Ticket.Probe()) // held for sixty seconds
	b.Settle(76*sec, probe.Ticket, gate.Failure)
	is.Equal(b.Stats(76*sec).RetryAfter, 15*sec) // and the next break has its own length again
}

func TestBreakerIsIsolatedAndReleasedByHand(t *testing.T) {
	t.Parallel()
	half := func() *gate.Breaker {
		b, _ := opened(0)
		b.Admit(15 * sec)
		return b
	}
	open, _ := opened(0)
	for from, b := range map[gate.BreakerState]*gate.Breaker{
		gate.Closed: gate.NewBreaker(workshop()), gate.Open: open, gate.HalfOpen: half(),
	} {
		is := is.New(t)
		is.Equal(b.Release(15*sec), gate.Transition{}) // there is nothing to release
		isolated := b.Isolate(15 * sec)
		is.Equal([]gate.BreakerState{isolated.From, isolated.To}, []gate.BreakerState{from, gate.Isolated}) // any state can be isolated
		is.Equal(b.Isolate(15*sec), gate.Transition{})                                                      // once is enough
		is.Equal(b.Admit(1000*time.Hour), gate.Admission{State: gate.Isolated})                             // refused for good, and nobody knows for how long
		is.Equal(b.State(1000*time.Hour), gate.Isolated)                                                    // no break ends it
		is.Equal(b.Stats(1000*time.Hour).RetryAfter, time.Duration(0))                                      // nobody knows
		released := b.Release(1000 * time.Hour)
		is.Equal([]gate.BreakerState{released.From, released.To}, []gate.BreakerState{gate.Isolated, gate.Closed}) // released means closed
		is.True(released.Generation > isolated.Generation)                                                         // generations rise
		is.Equal(b.Stats(1000*time.Hour), gate.BreakerStats{Generation: released.Generation})                      // and clear
		is.True(b.Admit(1000 * time.Hour).Admitted)                                                                // everybody is welcome
		is.Equal(play(b, 1000*time.Hour, "FFFFFFFFFF").HalfOpens, uint64(0))                                       // breaks before are forgotten
	}
}

func TestBreakerIsolationMakesOutcomesLate(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, _ := opened(0)
	probe := b.Admit(15 * sec).Ticket
	b.Isolate(15 * sec)
	is.Equal(b.Settle(15*sec, probe, gate.Success), gate.Transition{}) // a good probe does not end an isolation
	b.Release(15 * sec)
	is.Equal(b.Settle(15*sec, probe, gate.Failure), gate.Transition{}) // nor a bad one a release
	is.Equal(b.State(15*sec), gate.Closed)                             // released, whatever comes in late
}
