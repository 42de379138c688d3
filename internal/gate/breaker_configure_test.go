package gate_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

func TestBreakerOpensByItsNewSettingsAtTheNextFailureOnly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*gate.BreakerConfig)
		next   string
		want   gate.BreakerState
	}{
		{"nothing new", func(*gate.BreakerConfig) {}, "FF", gate.Closed},
		{"a ratio that is reached, a success", func(c *gate.BreakerConfig) { c.FailureRatioPPM = 500_000 }, "S", gate.Closed},
		{"a ratio that is reached, a failure", func(c *gate.BreakerConfig) { c.FailureRatioPPM = 500_000 }, "F", gate.Open},
		{"a minimum that is reached", func(c *gate.BreakerConfig) { c.FailureRatioPPM, c.Minimum = 500_000, 12 }, "F", gate.Closed},
		{"a minimum that is reached, two", func(c *gate.BreakerConfig) { c.FailureRatioPPM, c.Minimum = 500_000, 12 }, "FF", gate.Open},
		{"longer sampling", func(c *gate.BreakerConfig) { c.FailureRatioPPM, c.Sampling = 500_000, time.Hour }, "F", gate.Open},
		{"shorter sampling", func(c *gate.BreakerConfig) { c.FailureRatioPPM, c.Sampling = 500_000, sec }, "F", gate.Open},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := workshop()
			b := gate.NewBreaker(c)
			play(b, sec, "SSSSFFFFFF") // 60 %, of the 70 that open
			row.change(&c)
			b.Configure(sec, c)
			is.Equal(b.Stats(sec), gate.BreakerStats{Requests: 10, Failures: 6, Generation: 1}) // new settings are no transition, and forget nothing
			play(b, sec, row.next)
			is.Equal(b.State(sec), row.want) // not the new settings on what was counted under the old ones
		})
	}
}

func TestBreakerKeepsOutcomesForAsLongAsItsNewSamplingDuration(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := workshop() // tenths of three seconds
	b := gate.NewBreaker(c)
	play(b, sec, "SSF")
	play(b, 4*sec, "SF")
	c.Sampling = 2 * sec
	b.Configure(5*sec, c)
	is.Equal(b.Stats(5*sec).Requests, uint64(2))               // what is older has left
	is.Equal(b.Stats(7*sec-1).Requests, uint64(2))             // the others are as of now
	is.Equal(b.Stats(7*sec), gate.BreakerStats{Generation: 1}) // and leave like any
	play(b, 7*sec, "SF")
	c.Sampling = time.Minute
	b.Configure(8*sec, c)
	is.Equal(b.Stats(66*sec-1).Requests, uint64(2)) // the tenth of six seconds from six on
	is.Equal(b.Stats(66*sec).Requests, uint64(0))   // and no longer than any
}

func TestBreakerKeepsItsBreakAndItsHoldWhenConfigured(t *testing.T) {
	t.Parallel()
	for _, length := range []time.Duration{0, sec, time.Hour} {
		is := is.New(t)
		b, change := opened(0)
		c := workshop()
		c.Break = length
		b.Configure(5*sec, c)
		is.Equal(b.Stats(5*sec).RetryAfter, 10*sec)            // the running break has its length
		is.Equal(b.Stats(5*sec).Generation, change.Generation) // and its generation
		b.Hold(5*sec, change.Generation, 20*sec)
		b.Configure(6*sec, c)
		is.Equal(b.Admit(20*sec-1), gate.Admission{RetryAfter: 1, State: gate.Open}) // a break that is held stays held
		probe := b.Admit(20 * sec)
		is.True(probe.Ticket.Probe())                                        // the hold is over, and this one decides
		is.Equal(b.Stats(20*sec).RetryAfter, length)                         // if it fails, the next break is the new one
		is.Equal(b.Settle(20*sec, probe.Ticket, gate.Failure).Break, length) // and so it is
	}
}

func TestBreakerKeepsItsProbeWhenConfigured(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{1, time.Hour} {
		is := is.New(t)
		b, _ := opened(0)
		probe := b.Admit(15 * sec)
		before := b.Stats(16 * sec)
		c := workshop()
		c.ProbeTimeout = timeout
		b.Configure(16*sec, c)
		is.Equal(b.Stats(16*sec), before)      // half-open, in the same generation
		is.True(!b.Admit(35*sec - 1).Admitted) // the probe was sent with the old timeout
		next := b.Admit(35 * sec)
		is.True(next.Ticket.Probe())                                                      // its place is free after that
		is.True(!b.Admit(35*sec + min(timeout, 59*time.Minute) - 1).Admitted)             // the next one has the new one
		is.True(b.Admit(35*sec + timeout).Ticket.Probe())                                 // to its end
		is.Equal(b.Settle(35*sec+timeout, probe.Ticket, gate.Success), gate.Transition{}) // late, under any settings
	}
}

func TestBreakerStaysIsolatedWhenConfigured(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBreaker(workshop())
	isolated := b.Isolate(sec)
	c := workshop()
	c.Break, c.ProbeTimeout = 0, 1
	b.Configure(2*sec, c)
	is.Equal(b.Admit(time.Hour), gate.Admission{State: gate.Isolated}) // no break ends it, and no settings
	is.Equal(b.Stats(time.Hour).Generation, isolated.Generation)       // nothing happened
	is.Equal(b.Release(time.Hour).Number, uint64(2))                   // until somebody does it
}

func TestBreakerAgreesWithItsModelWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	const schedules, steps = 200, 400
	for seed := range uint64(schedules) {
		r := rand.New(rand.NewPCG(seed, 9))
		d := newDuel(is.New(t), randomBreaker(r))
		for range steps {
			if r.IntN(20) == 0 {
				d.configure(randomBreaker(r))
			}
			d.step(r.IntN)
		}
	}
}

// Settings that open at any failure and settings that never open, in turn. No probe is slow enough to lose its place.
func TestBreakerHasOneProbeWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	touchy := gate.BreakerConfig{Sampling: sec, Break: ms, ProbeTimeout: 1000 * time.Hour}
	calm := gate.BreakerConfig{FailureRatioPPM: million, Minimum: 1000, Sampling: time.Minute, Break: 2 * ms, ProbeTimeout: 1000 * time.Hour}
	b := gate.NewBreaker(calm)
	var clock, live, probes atomic.Int64
	together(func(r *rand.Rand) {
		for i := 0; probes.Load() < 300; i++ {
			now := time.Duration(clock.Add(r.Int64N(int64(ms / 4))))
			if i%10 == 0 {
				b.Configure(now, []gate.BreakerConfig{touchy, calm}[r.IntN(2)])
			}
			a := b.Admit(now)
			if !a.Admitted {
				runtime.Gosched() // let the probe come back
				continue
			}
			if a.Ticket.Probe() {
				probes.Add(1)
				if live.Add(1) != 1 {
					t.Error("two probes are live at once")
				}
				runtime.Gosched() // let the others try
				live.Add(-1)
			}
			b.Settle(now, a.Ticket, []gate.Outcome{gate.Success, gate.Failure, gate.Ignored}[r.IntN(3)])
		}
	})
}

func TestBreakerDoesNotAllocateOnceItIsConfigured(t *testing.T) {
	is := is.New(t)
	closed, open := gate.NewBreaker(workshop()), gate.NewBreaker(workshop())
	play(open, 0, "FFFFFFFFFF")
	c := workshop()
	c.Sampling = time.Hour
	closed.Configure(0, c)
	open.Configure(0, c)
	is.Equal(testing.AllocsPerRun(100, func() { closed.Settle(0, closed.Admit(0).Ticket, gate.Success) }), 0.0) // an attempt
	is.Equal(testing.AllocsPerRun(100, func() { open.Admit(0) }), 0.0)                                          // a refusal
}

func TestBreakerKeepsItsSettingsIfNewOnesMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*gate.BreakerConfig){
		func(c *gate.BreakerConfig) { c.FailureRatioPPM = million + 1 },
		func(c *gate.BreakerConfig) { c.Break = -1 },
		func(c *gate.BreakerConfig) { c.ProbeTimeout = 0 },
		func(c *gate.BreakerConfig) { c.Sampling = 0 },
	} {
		is := is.New(t)
		b := gate.NewBreaker(workshop())
		play(b, 0, "FFFFFFFFF")
		c := workshop()
		c.Minimum = 1
		change(&c)
		message := recovered(func() { gate.NewBreaker(c) })
		is.True(message != nil)                                    // a new breaker does not take them
		is.Equal(recovered(func() { b.Configure(0, c) }), message) // nor does one that is in use
		is.Equal(b.Stats(0).Failures, uint64(9))                   // which forgets nothing
		is.Equal(play(b, 0, "F"), gate.Transition{                 // and opens by the settings that it had
			From: gate.Closed, To: gate.Open, Number: 1, Generation: 2, Requests: 10, Failures: 10, Break: 15 * sec,
		})
	}
}
