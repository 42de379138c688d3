package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// duel plays one schedule to a breaker and to its model, and compares every answer and all that shows.
type duel struct {
	is         *is.I
	config     gate.BreakerConfig
	breaker    *gate.Breaker
	model      *breakerModel
	now        time.Duration
	sent       []sent
	broken     []broken
	generation uint64 // of the last change
	live       *sent  // the probe that is out, by the breaker's own word
}

type sent struct {
	ticket gate.Ticket
	model  *modelTicket
	until  time.Duration // if a probe: it has its place
}

type broken struct {
	generation uint64
	number     int // in the model
}

func newDuel(is *is.I, c gate.BreakerConfig) *duel {
	return &duel{is: is, config: c, breaker: gate.NewBreaker(c), model: newBreakerModel(c), generation: 1}
}

// step does one thing. Choose returns a number from 0 to below its argument.
func (d *duel) step(choose func(int) int) {
	d.now += d.pause(choose)
	d.model.now = max(d.model.now, d.now)
	switch action := choose(32); {
	case action < 13:
		d.admit()
	case action < 28 && len(d.sent) > 0:
		d.settle(choose(len(d.sent)), []gate.Outcome{gate.Success, gate.Failure, gate.Failure, gate.Ignored}[choose(4)])
	case action == 28 && len(d.broken) > 0:
		b := d.broken[choose(len(d.broken))]
		length := time.Duration(choose(40)-5) * d.config.Break / 16
		d.breaker.Hold(d.now, b.generation, length)
		d.model.hold(b.number, length)
	case action == 29:
		var want gate.Transition
		if d.model.state != gate.Isolated && choose(3) == 0 {
			want = d.model.become(gate.Isolated)
			d.compare(d.breaker.Isolate(d.now), want)
		}
	case action > 29:
		var want gate.Transition
		if d.model.state == gate.Isolated {
			want = d.model.become(gate.Closed)
		}
		d.compare(d.breaker.Release(d.now), want)
	}
	d.look()
}

func (d *duel) pause(choose func(int) int) time.Duration {
	switch n := choose(64); {
	case n < 40:
		return 0
	case n < 50:
		return d.config.Sampling / 40
	case n < 54:
		return d.config.Break
	case n < 57:
		return d.config.Break/3 + 1
	case n < 59:
		return d.config.ProbeTimeout - 1
	case n < 60:
		return d.config.Sampling
	case n < 61:
		return 1
	default:
		return -d.config.Sampling / 7
	}
}

// configure replaces the settings of both, and nothing else may show.
func (d *duel) configure(c gate.BreakerConfig) {
	before := d.breaker.State(d.now)
	d.breaker.Configure(d.now, c)
	d.model.now = max(d.model.now, d.now)
	d.model.configure(c)
	d.config = c
	d.is.Equal(d.breaker.State(d.now), before) // new settings changed the state
	d.look()
}

func (d *duel) admit() {
	before := d.model.stateByClock()
	got := d.breaker.Admit(d.now)
	ticket, change := d.model.admit()
	d.is.Equal(got.Admitted, ticket != nil) // one admits what the other refuses
	d.is.Equal(got.State, d.model.state)    // the states differ
	d.compare(got.Transition, change)
	if !got.Admitted {
		d.is.Equal(got.RetryAfter, d.model.wait()) // the waits differ
		d.is.Equal(got.Ticket, gate.Ticket{})      // a refused attempt got a ticket
		d.is.True(before != gate.Closed)           // a closed breaker refused
		return
	}
	d.is.Equal(got.Ticket.Probe(), ticket.probe) // one calls it a probe
	s := sent{got.Ticket, ticket, d.model.now + d.config.ProbeTimeout}
	if got.Ticket.Probe() {
		d.is.True(d.live == nil || d.model.now >= d.live.until) // a second live probe
		d.live = &s
	}
	if len(d.sent) < 24 {
		d.sent = append(d.sent, s)
	} else {
		d.sent[len(d.sent)/2] = s // the one that was there never comes back
	}
}

// settle settles an attempt that was sent, and may leave it to be settled once more, late.
func (d *duel) settle(i int, o gate.Outcome) {
	s := d.sent[i]
	if d.live != nil && d.live.ticket == s.ticket {
		d.live = nil
	}
	got := d.breaker.Settle(d.now, s.ticket, o)
	d.compare(got, d.model.settle(s.model, o))
	if got.To == gate.Open && got.From == gate.Closed {
		d.is.True(got.Requests >= d.config.Minimum)                              // opened without the minimum
		d.is.True(got.Failures*million >= got.Requests*d.config.FailureRatioPPM) // opened below the ratio
	}
	if i%4 > 0 {
		d.sent = append(d.sent[:i], d.sent[i+1:]...)
	}
}

// compare compares two changes but for their generations, of which only the order matters.
func (d *duel) compare(got, want gate.Transition) {
	generation := got.Generation
	got.Generation = 0
	if got != want { // asked here as well, for the reflection in Equal would take half of the test's time
		d.is.Equal(got, want) // the changes differ
	}
	if !got.Changed() {
		return
	}
	d.is.True(generation > d.generation) // a later change has an earlier generation
	d.generation = generation
	if got.To != gate.HalfOpen {
		d.live = nil
	}
	if got.To == gate.Open {
		d.broken = append(d.broken, broken{generation, d.model.breaks})
	}
}

func (d *duel) look() {
	stats := d.breaker.Stats(d.now)
	want := gate.BreakerStats{State: d.model.stateByClock(), RetryAfter: d.model.wait(), Generation: stats.Generation}
	want.Requests, want.Failures = d.model.sums()
	if stats != want {
		d.is.Equal(stats, want) // the snapshots differ
	}
	d.is.Equal(d.breaker.State(d.now), stats.State) // the state differs from the snapshot's
	d.is.True(stats.Generation >= d.generation)     // generations went back
}

func randomBreaker(r *rand.Rand) gate.BreakerConfig {
	return gate.BreakerConfig{
		FailureRatioPPM: []uint64{0, 1, 300_000, 500_000, 700_000, million}[r.IntN(6)],
		Minimum:         []uint64{0, 1, 2, 5, 10}[r.IntN(5)],
		Sampling:        time.Duration(1 + r.Int64N(int64(time.Minute))),
		Break:           time.Duration(r.Int64N(int64(20 * sec))),
		ProbeTimeout:    time.Duration(1 + r.Int64N(int64(30*sec))),
	}
}

func TestBreakerAgreesWithAModelThatRemembersEverything(t *testing.T) {
	t.Parallel()
	const schedules, steps = 400, 500
	changes := map[[2]gate.BreakerState]int{}
	for seed := range uint64(schedules) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := newDuel(is.New(t), randomBreaker(r))
		for range steps {
			from := d.model.state
			d.step(r.IntN)
			changes[[2]gate.BreakerState{from, d.model.state}]++
		}
	}
	for _, change := range [][2]gate.BreakerState{
		{gate.Closed, gate.Open}, {gate.Open, gate.HalfOpen}, {gate.HalfOpen, gate.Open}, {gate.HalfOpen, gate.Closed},
		{gate.Isolated, gate.Closed}, {gate.HalfOpen, gate.Isolated}, {gate.Open, gate.Isolated}, {gate.Closed, gate.Isolated},
	} {
		is.New(t).True(changes[change] > 100) // the schedules hardly make this change, so they say nothing about it
	}
}

// FuzzBreaker reads its input as a schedule: every choice that the duel makes takes one byte.
func FuzzBreaker(f *testing.F) {
	f.Add(byte(2), byte(5), []byte("some calls, some outcomes, and a pause now and then"))
	f.Add(byte(0), byte(0), []byte{0, 0, 0, 14, 0, 1, 0, 0, 0, 14, 0, 1, 51, 0, 0, 14, 0, 0})
	f.Add(byte(7), byte(10), []byte{0, 1, 0, 15, 0, 1, 58, 1, 63, 1, 0, 29, 0, 0, 30, 0, 28, 0, 39, 52, 2, 0, 20, 0, 3})
	f.Fuzz(func(t *testing.T, tenths, minimum byte, schedule []byte) {
		if len(schedule) > 4000 {
			return
		}
		d := newDuel(is.New(t), gate.BreakerConfig{
			FailureRatioPPM: uint64(tenths%11) * 100_000, Minimum: uint64(minimum % 12),
			Sampling: 30 * sec, Break: 5 * sec, ProbeTimeout: 7 * sec,
		})
		choose := func(n int) int {
			if len(schedule) == 0 {
				return 0
			}
			choice := int(schedule[0]) % n
			schedule = schedule[1:]
			return choice
		}
		for len(schedule) > 0 {
			d.step(choose)
		}
	})
}
