package main

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// small is a fleet that takes a second or so to play. Its dependency is smaller by as much, so what holds for a big fleet
// holds for it, give or take some chance.
func small() fleet { return fleet{clients: 4, rate: 5} }

var (
	barely       = policy{"bare client", bare}
	naively      = policy{"naive retries", naive}
	unlimited    = policy{"one retry, no budget", ours(oneRetry())}
	withBudget   = policy{"one retry, with a budget", ours(oneRetry().Budget())}
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
	for _, p := range []policy{unlimited, naively} {
		played(t, dip(small()), p, func(is *is.I, f figures) {
			is.Equal(f.recovery, never)     // the retries keep the dependency down, though all its capacity is back
			is.True(f.after < 0.05)         // so hardly a call succeeds
			is.True(f.amplification >= 1.8) // for this is how often it is asked
		})
	}
}

func TestBareClientRecoversFromADip(t *testing.T) {
	t.Parallel()
	played(t, dip(small()), barely, func(is *is.I, f figures) {
		is.True(f.recovery <= 20*time.Second) // so it is the retries that keep the dependency down
	})
}

func TestPlaysRepeatThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range policies() {
		is := is.New(t)
		s := dip(fleet{clients: 2, rate: 5})
		one, two := s.play(t, p), s.play(t, p)
		is.Equal(one.outcomes, two.outcomes) // each call began, took and ended the same, to the nanosecond
		is.Equal(one.arrivals, two.arrivals) // and so did each attempt
	}
}
