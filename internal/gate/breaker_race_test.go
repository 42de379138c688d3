package gate_test

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// Goroutines that move a shared clock send attempts through one breaker, many failing, some ignored. No probe is slow
// enough to lose its place, so it is live from its admission until it is settled.
func TestBreakerNeverHasTwoLiveProbes(t *testing.T) {
	t.Parallel()
	b := gate.NewBreaker(gate.BreakerConfig{
		FailureRatioPPM: 500_000, Minimum: 4, Sampling: 10 * sec, Break: 100 * ms, ProbeTimeout: 1000 * time.Hour,
	})
	var clock, live, probes atomic.Int64
	var mu sync.Mutex
	var changes []gate.Transition
	note := func(change gate.Transition) {
		if change.Changed() {
			mu.Lock()
			defer mu.Unlock()
			changes = append(changes, change)
		}
	}
	together(func(r *rand.Rand) {
		for probes.Load() < 500 {
			a := b.Admit(time.Duration(clock.Add(r.Int64N(int64(20 * ms)))))
			note(a.Transition)
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
				live.Add(-1)      // before it is settled: the next one may be admitted from there on
			}
			outcome := []gate.Outcome{gate.Success, gate.Failure, gate.Ignored}[r.IntN(3)]
			note(b.Settle(time.Duration(clock.Load()), a.Ticket, outcome))
		}
	})

	is := is.New(t)
	slices.SortFunc(changes, func(a, b gate.Transition) int { return cmp.Compare(a.Generation, b.Generation) })
	state := gate.Closed
	for i, change := range changes {
		is.Equal(change.From, state)                                   // the changes, put into order by generation, are not one story
		is.True(i == 0 || change.Generation > changes[i-1].Generation) // two changes began one generation
		state = change.To
	}
	is.Equal(state, b.State(0)) // the story does not end where the breaker is
}
