package bench_test

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// What must not get worse, for CI: allocations, which are the same everywhere, and how much more time other clients add
// in the same minute. The bounds are far from what is usual. They ask for RESILIENT_BENCH, for they take some seconds.

func guarded(t *testing.T) {
	t.Helper()
	if os.Getenv("RESILIENT_BENCH") == "" {
		t.Skip("set RESILIENT_BENCH to compare with other clients")
	}
}

func TestCallTakesOneAllocationMore(t *testing.T) {
	guarded(t)
	for _, row := range []struct {
		situation string
		most      float64
	}{
		{"get-background", 1},
		{"get-cancellable", 1},
		{"get-sooner", 1},
		{"post-1k", 2},            // and a GetBody
		{"get-like-transport", 6}, // and the context that the transport asks for
	} {
		t.Run(row.situation, func(t *testing.T) {
			s := situationOf(t, row.situation)
			bare := testing.AllocsPerRun(1000, s.caller(t, contender.Named(contender.Bare)[0].Over(s.base)))
			ours := testing.AllocsPerRun(1000, s.caller(t, contender.Named(contender.Resilient)[0].Over(s.base)))
			if ours-bare > row.most {
				t.Errorf("%v allocations more than bare, at most %v are allowed", ours-bare, row.most)
			}
		})
	}
}

func TestOthersAddMoreTime(t *testing.T) {
	guarded(t)
	for _, row := range []struct {
		situation, than string
		least           float64 // times as much
	}{
		{"get-cancellable", contender.Failsafe, 3},
		{"post-1k", contender.Failsafe, 3},
		{"get-background", contender.Failsafe, 2},
		{"get-cancellable", contender.DIY, 1.3},
	} {
		t.Run(row.situation+" "+row.than, func(t *testing.T) {
			s := situationOf(t, row.situation)
			var times float64
			for range 2 { // who disturbed the first try may be gone
				if times = s.timesMore(t, row.than); times >= row.least {
					return
				}
			}
			t.Errorf("%s adds %.1f times the time that we add; it should be %.1f at least", row.than, times, row.least)
		})
	}
}

func situationOf(t *testing.T, name string) situation {
	t.Helper()
	for _, s := range situations(t) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no situation %q", name)
	return situation{}
}

// timesMore is how many times the time that we add another client adds. Of several rounds, in which all take turns, the
// best of each counts: what else runs makes calls slower, never faster.
func (s situation) timesMore(t *testing.T, than string) float64 {
	const rounds, calls = 20, 2000
	clients := contender.Named(contender.Bare, contender.Resilient, than)
	best := []float64{math.Inf(1), math.Inf(1), math.Inf(1)}
	callers := make([]func(), len(clients))
	for i, c := range clients {
		callers[i] = s.caller(t, c.Over(s.base))
	}
	for range rounds {
		for i, call := range callers {
			begun := time.Now()
			for range calls {
				call()
			}
			best[i] = min(best[i], float64(time.Since(begun))/calls)
		}
	}
	return (best[2] - best[0]) / (best[1] - best[0])
}
