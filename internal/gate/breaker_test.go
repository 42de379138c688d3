package gate_test

import (
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// workshop is a breaker with numbers that are easy to reach and to tell apart.
func workshop() gate.BreakerConfig {
	return gate.BreakerConfig{
		FailureRatioPPM: 700_000, Minimum: 10, Sampling: 30 * sec, Break: 15 * sec, ProbeTimeout: 20 * sec,
	}
}

// play sends one attempt per letter, S for success, F for failure, I for ignored, and returns the last change. Refused
// attempts are skipped.
func play(b *gate.Breaker, now time.Duration, outcomes string) (change gate.Transition) {
	for _, letter := range outcomes {
		outcome := map[rune]gate.Outcome{'S': gate.Success, 'F': gate.Failure, 'I': gate.Ignored}[letter]
		if a := b.Admit(now); a.Admitted {
			if c := b.Settle(now, a.Ticket, outcome); c.Changed() {
				change = c
			}
		}
	}
	return change
}

// opened returns a breaker that opened now.
func opened(now time.Duration) (*gate.Breaker, gate.Transition) {
	b := gate.NewBreaker(workshop())
	return b, play(b, now, "FFFFFFFFFF")
}

func TestBreakerOpensOnAFailureAtTheRatioOfEnoughOutcomes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		ppm      uint64
		minimum  uint64
		outcomes string
		want     gate.BreakerState
	}{
		{"one below the minimum", 700_000, 10, "FFFFFFFFF", gate.Closed},
		{"at the minimum", 700_000, 10, "FFFFFFFFFF", gate.Open},
		{"at the ratio", 700_000, 10, "SSSFFFFFFF", gate.Open},
		{"below the ratio", 700_000, 10, "SSSSFFFFFF", gate.Closed},
		{"a success does not open", 700_000, 10, "FFFFFFFSSS", gate.Closed},
		{"the failure after it does", 700_000, 10, "FFFFFFFSSSF", gate.Open},
		{"ignored outcomes are not outcomes", 700_000, 10, "IIIIFFFFFFFFFIIII", gate.Closed},
		{"nor successes", 700_000, 10, "IIIIIIIIFFFFFFFFFF", gate.Open},
		{"ratio zero: any failure", 0, 10, "SSSSSSSSSF", gate.Open},
		{"ratio zero: no success", 0, 10, "SSSSSSSSSSSS", gate.Closed},
		{"ratio zero: not below the minimum", 0, 10, "FSSSSSSSSS", gate.Closed},
		{"ratio one: every one", million, 2, "SFFFFFFFFF", gate.Closed},
		{"ratio one", million, 2, "FF", gate.Open},
		{"no minimum", 500_000, 0, "F", gate.Open},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := workshop()
			c.FailureRatioPPM, c.Minimum = row.ppm, row.minimum
			b := gate.NewBreaker(c)
			play(b, 0, row.outcomes)
			is.New(t).Equal(b.State(0), row.want) // n >= minimum and failures/n >= ratio, judged on a failure only
		})
	}
}

// Ten of ten fail, the break runs to its last millisecond, and then probes decide: one fails, the next one closes.
func TestBreakerScenarioOfTheWorkshop(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, change := opened(sec)
	is.Equal(change, gate.Transition{ // the tenth failure opens, and the change tells why
		From: gate.Closed, To: gate.Open, Number: 1, Generation: 2, Requests: 10, Failures: 10, Break: 15 * sec,
	})
	open := change.Generation

	refused := b.Admit(sec)
	is.Equal(refused, gate.Admission{RetryAfter: 15 * sec, State: gate.Open}) // the eleventh call is refused for the whole break
	refused = b.Admit(sec + 14_999*ms)
	is.Equal(refused, gate.Admission{RetryAfter: 1 * ms, State: gate.Open}) // to its last millisecond

	probe := b.Admit(16 * sec)
	is.True(probe.Admitted)                     // the break is over
	is.True(probe.Ticket.Probe())               // this one decides
	is.Equal(probe.State, gate.HalfOpen)        // and says so
	is.Equal(probe.Transition, gate.Transition{ // the first half-open since the breaker was closed
		From: gate.Open, To: gate.HalfOpen, Number: 2, Generation: open + 1, Requests: 10, Failures: 10, HalfOpens: 1,
	})
	is.Equal(b.Admit(16*sec), gate.Admission{RetryAfter: 15 * sec, State: gate.HalfOpen}) // there is no second probe

	again := b.Settle(17*sec, probe.Ticket, gate.Failure)
	is.Equal(again, gate.Transition{ // a failed probe opens for another break, and is not among the outcomes
		From: gate.HalfOpen, To: gate.Open, Number: 3, Generation: open + 2, Requests: 10, Failures: 10, HalfOpens: 1, Break: 15 * sec,
	})
	is.Equal(b.Admit(32*sec-1).RetryAfter, time.Duration(1)) // measured from its end

	probe = b.Admit(32 * sec)
	is.Equal(probe.Transition.HalfOpens, uint64(2)) // the second half-open
	closed := b.Settle(33*sec, probe.Ticket, gate.Success)
	is.Equal(closed.From, gate.HalfOpen)                                        // a good probe
	is.Equal(closed.To, gate.Closed)                                            // closes
	is.Equal(b.Stats(33*sec), gate.BreakerStats{Generation: closed.Generation}) // and clears

	play(b, 33*sec, "FFFFFFFFF")
	is.Equal(b.State(33*sec), gate.Closed) // nine fresh failures are not enough
	reopened := play(b, 33*sec, "F")
	is.Equal(reopened.To, gate.Open)        // the tenth is
	is.Equal(reopened.HalfOpens, uint64(0)) // and this is the first break since closed
}

func TestBreakerStateFollowsTheClockWithoutTraffic(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, change := opened(0)
	is.Equal(b.State(15*sec-1), gate.Open)       // the break is not over
	is.Equal(b.State(15*sec), gate.HalfOpen)     // it is, though nobody came
	is.Equal(b.Stats(15*sec), gate.BreakerStats{ // and whoever comes need not wait
		State: gate.HalfOpen, Requests: 10, Failures: 10, Generation: change.Generation,
	})
	is.Equal(b.Admit(15*sec).Transition.From, gate.Open) // the change itself happens when somebody comes
}

func TestBreakerDoesNotCountWhatItRefusesOrIgnores(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBreaker(workshop())
	for range 100 {
		play(b, 0, "I") // callers who went away
	}
	is.Equal(b.Stats(0), gate.BreakerStats{Generation: 1}) // a healthy server, and nothing on its record
	play(b, 0, "SFFFFFFFFFFF")                             // the last is refused
	for range 100 {
		b.Admit(sec)
	}
	stats := b.Stats(sec)
	is.Equal([]uint64{stats.Requests, stats.Failures}, []uint64{10, 9}) // refused calls were counted
}

// Counters that start anew at fixed times see 90 % where a few failures come first. Sliding ones never do.
func TestBreakerIsNotFooledByTheBordersOfItsWindow(t *testing.T) {
	t.Parallel()
	c := workshop()
	c.FailureRatioPPM, c.Minimum, c.Sampling = 500_000, 100, 10*sec
	b := gate.NewBreaker(c)
	for i := range 35_000 { // one per millisecond
		outcome := "S"
		if i%100 < 9 {
			outcome = "F"
		}
		change := play(b, time.Duration(i)*ms, outcome)
		is.New(t).True(!change.Changed()) // 9 % of failures opened a breaker that wants 50 %
	}
	stats := b.Stats(35*sec - 1)
	is.New(t).Equal(stats.Failures*100/stats.Requests, uint64(9)) // the window does not hold what was sent
}

// Polly's vector: ten outcomes, one a second, read one second after the last.
func TestBreakerForgetsOutcomesAfterTheSamplingDuration(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := workshop()
	c.Sampling = 10 * sec
	b := gate.NewBreaker(c)
	for i := range 10 {
		play(b, time.Duration(i)*sec, "S")
	}
	is.Equal(b.Stats(9*sec).Requests, uint64(10))  // all ten
	is.Equal(b.Stats(10*sec).Requests, uint64(9))  // the first of ten is out
	is.Equal(b.Stats(100*sec).Requests, uint64(0)) // all are
	play(b, 100*sec, "FFFFFFFFF")
	is.Equal(b.State(100*sec), gate.Closed) // old outcomes do not help to reach the minimum
}

func TestBreakerClockThatGoesBackNeitherShortensNorExtendsABreak(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, _ := opened(100 * sec)
	for _, back := range []time.Duration{99 * sec, 0, -sec, math.MinInt64} {
		is.Equal(b.Admit(back), gate.Admission{RetryAfter: 15 * sec, State: gate.Open}) // the time stands still
	}
	b.Admit(110 * sec)
	is.Equal(b.Admit(0).RetryAfter, 5*sec) // at the latest seen, whoever told it
	probe := b.Admit(115 * sec)
	is.True(probe.Admitted)                 // the break ends when it should
	is.Equal(b.Admit(0).RetryAfter, 15*sec) // a probe is out, since the latest time
	again := b.Settle(math.MinInt64, probe.Ticket, gate.Failure)
	is.Equal(again.To, gate.Open)                             // a break that begins in the past
	is.Equal(b.Admit(130*sec-1).RetryAfter, time.Duration(1)) // begins at the latest time
	is.Equal(b.State(130*sec), gate.HalfOpen)                 // and lasts as long as any
	is.Equal(b.Isolate(-1).To, gate.Isolated)                 // by hand it works all the same
	is.Equal(b.Release(-1).To, gate.Closed)                   // both ways
}

func TestBreakerDoesNotAllocate(t *testing.T) {
	is := is.New(t)
	closed, open := gate.NewBreaker(workshop()), gate.NewBreaker(workshop())
	play(open, 0, "FFFFFFFFFF")
	is.Equal(testing.AllocsPerRun(100, func() { closed.Settle(0, closed.Admit(0).Ticket, gate.Success) }), 0.0) // an attempt
	is.Equal(testing.AllocsPerRun(100, func() { open.Admit(0) }), 0.0)                                          // a refusal
	now := time.Duration(0)
	is.Equal(testing.AllocsPerRun(100, func() { // a probe and two changes
		now += 15 * sec
		open.Settle(now, open.Admit(now).Ticket, gate.Failure)
	}), 0.0)
	is.Equal(testing.AllocsPerRun(100, func() { open.Stats(now); open.State(now) }), 0.0) // a look
}

func TestBreakerPanicsOnSettingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for message, change := range map[string]func(*gate.BreakerConfig){
		"gate: a ratio must be at most 1000000 parts per million, got 1000001": func(c *gate.BreakerConfig) {
			c.FailureRatioPPM = million + 1
		},
		"gate: a break must not be negative and a probe's timeout must be above zero, got -1ns and 20s": func(c *gate.BreakerConfig) {
			c.Break = -1
		},
		"gate: a break must not be negative and a probe's timeout must be above zero, got 15s and 0s": func(c *gate.BreakerConfig) {
			c.ProbeTimeout = 0
		},
		"ring: the span must be above zero, got 0s": func(c *gate.BreakerConfig) {
			c.Sampling = 0
		},
	} {
		c := workshop()
		change(&c)
		is.New(t).Equal(recovered(func() { gate.NewBreaker(c) }), message) // the settings were accepted, or the message does not tell
	}
}

func TestBreakerStatesHaveTheWordsOfTheField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(gate.Closed.String(), "closed")      // metrics carry this word
	is.Equal(gate.Open.String(), "open")          // metrics carry this word
	is.Equal(gate.HalfOpen.String(), "half-open") // metrics carry this word
	is.Equal(gate.Isolated.String(), "isolated")  // metrics carry this word
}

// recovered returns what f panics with.
func recovered(f func()) (reason any) {
	defer func() { reason = recover() }()
	f()
	return nil
}
