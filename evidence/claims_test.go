package main

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// small is a fleet that takes a second or so to play. Its dependency is smaller by as much, so what holds for a big fleet
// holds for it, give or take some chance.
func small() fleet { return fleet{clients: 2, rate: 10} }

var (
	barely       = policy{"bare client", bare}
	naively      = policy{"naive retries", naive}
	unlimited    = policy{"one retry, no budget", ours(oneRetry())}
	withBudget   = policy{"one retry, with a budget", ours(oneRetry().Budget())}
	standard     = policy{"Standard", ours(start(resilient.Standard))}
	conservative = policy{"Conservative", ours(start(resilient.Conservative))}
)

// played plays a scenario with a policy, twice with different chance, and has the figures checked.
func played(t *testing.T, s scenario, p policy, check func(is *is.I, f figures)) {
	t.Helper()
	for s.seed = 1; s.seed <= 2; s.seed++ {
		f := newFigures(s, p.name, s.play(t, p))
		t.Logf("%s, %s, seed %d: %+v", s.name, p.name, s.seed, f)
		check(is.New(t), f)
	}
}

func TestBudgetBoundsAttemptsInAnyTrouble(t *testing.T) {
	t.Parallel()
	for _, s := range []scenario{outage(small()), dip(small()), hang(small())} {
		for _, p := range []policy{withBudget, conservative} {
			played(t, s, p, func(is *is.I, f figures) {
				is.True(f.amplification <= 1.11)      // a tenth more than there are calls; a hundredth is the window's edge
				is.True(f.recovery <= 30*time.Second) // and the fleet gets out of the trouble
			})
		}
	}
}

func TestRetriesWithoutABudgetNeverRecoverFromADip(t *testing.T) {
	t.Parallel()
	played(t, dip(small()), barely, func(is *is.I, f figures) {
		is.True(f.recovery <= 20*time.Second) // without retries it comes back
	})
	for _, p := range []policy{unlimited, naively} {
		played(t, dip(small()), p, func(is *is.I, f figures) {
			is.Equal(f.recovery, never)     // the retries keep the dependency down, though all its capacity is back
			is.True(f.after < 0.05)         // so hardly a call succeeds
			is.True(f.amplification >= 1.8) // for this is how often it is asked
		})
	}
}

func TestConservativeServesCallersOfAFlakyDependency(t *testing.T) {
	t.Parallel()
	s := item85(small())
	played(t, s, barely, func(is *is.I, f figures) {
		is.True(f.during > 0.83 && f.during < 0.87) // 85 % is what the dependency serves
	})
	played(t, s, conservative, func(is *is.I, f figures) {
		is.True(f.during >= 0.87)        // a retry makes 87 % of it, the most there is being 89 %
		is.True(f.amplification <= 1.11) // within the budget
	})
}

func TestStricterBreakerHarmsCallersOfAFlakyDependency(t *testing.T) {
	t.Parallel()
	played(t, item85(small()), standard, func(is *is.I, f figures) {
		is.True(f.during < 0.65) // of 85 % that could be served
	})
	played(t, item85(fleet{clients: 1, rate: 100}), standard, func(is *is.I, f figures) {
		is.True(f.during < 0.2) // the busier a process, the sooner its breaker has seen enough again
	})
}

func TestStricterBreakerServesMoreCallersInADip(t *testing.T) {
	t.Parallel()
	served := map[string]float64{}
	for _, p := range []policy{barely, conservative, standard} {
		played(t, dip(small()), p, func(_ *is.I, f figures) { served[p.name] += f.during / 2 })
	}
	is := is.New(t)
	is.True(served["Conservative"] >= 3*served["bare client"]) // a breaker lets the queue run empty from time to time
	is.True(served["Standard"] > served["Conservative"])       // and one that opens sooner more often
}

func TestBreakerComesBackLaterThanABareClient(t *testing.T) {
	t.Parallel()
	played(t, outage(small()), barely, func(is *is.I, f figures) {
		is.Equal(f.recovery, time.Duration(0)) // who keeps asking is there at once
	})
	played(t, outage(small()), conservative, func(is *is.I, f figures) {
		is.True(f.recovery > 0 && f.recovery <= 7*time.Second) // an open circuit waits for the rest of its break
	})
}

func TestLowVolumeFloorLeaksWhatItSays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rate      float64
		lowVolume int
		promised  float64
	}{
		{0.2, 0, 2},        // 6 calls in a window: below the minimum each is retried
		{0.2, 1, 1 + 1./6}, // one retry in a window
		{0.2, 10, 2},       // ten are more than there are calls
		{1, 1, 1.1},        // 30 calls: the tenth is more than one
		{1, 10, 1 + 1./3},  // ten of thirty
	} {
		s := outage(fleet{clients: int(20 / row.rate), rate: row.rate})
		s.length = troubleTo
		played(t, s, policy{"budget", ours(lowVolume(oneRetry().Budget(), row.lowVolume))}, func(is *is.I, f figures) {
			is.Equal(promised(30*row.rate, row.lowVolume), row.promised) // what the documentation says
			most := promised(f.window, row.lowVolume)                    // for as many calls as there were
			is.True(f.amplification <= most+0.005)                       // it is no more
			is.True(f.amplification-1 >= 0.9*(most-1))                   // and hardly less
		})
	}
}

func TestPlaysRepeatThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range policies() {
		is := is.New(t)
		s := dip(small())
		s.trouble.from, s.trouble.to, s.length = 5*time.Second, 20*time.Second, 30*time.Second
		one, two := s.play(t, p), s.play(t, p)
		is.Equal(one.outcomes, two.outcomes) // each call began, took and ended the same, to the nanosecond
		is.Equal(one.arrivals, two.arrivals) // and so did each attempt
	}
}
