package gate_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

const goroutines = 8

// together runs f in several goroutines, each with a random source of its own, and waits for all.
func together(f func(r *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() { f(rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	wg.Wait()
}

// At one moment there is no rotation, and nothing may blur the number: not one too many, not one too few.
func TestBudgetAdmitsExactlyItsAllowanceToManyAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 200 {
		is := is.New(t)
		b := gate.NewBudget(conservative())
		request(b, 0, 1000+10*round)
		var admitted atomic.Int64
		together(func(*rand.Rand) {
			for range 50 + 2*round {
				if b.Retry(0) {
					admitted.Add(1)
				}
			}
		})
		is.Equal(admitted.Load(), int64(100+round))           // more or fewer than the allowance
		is.Equal(b.State(0).Retries, uint64(admitted.Load())) // what was admitted is not what is on the books
	}
}

// Requests and retries at once, at one moment: each retry admitted in force was within the share of the requests
// counted by then, so at the end all of them are.
func TestBudgetNeverExceedsTheShareWhileRequestsComeIn(t *testing.T) {
	t.Parallel()
	for range 20 {
		is := is.New(t)
		b := gate.NewBudget(gate.BudgetConfig{RatioPPM: 300_000, Window: 30 * sec, Minimum: 1})
		b.Request(0) // the minimum: from here on everything is in force
		var requests, admitted atomic.Int64
		requests.Add(1)
		together(func(r *rand.Rand) {
			for range 1000 {
				if r.IntN(2) == 0 {
					requests.Add(1) // before it is counted: an upper bound for everybody else
					b.Request(0)
					continue
				}
				if b.Retry(0) && admitted.Add(1) > requests.Load()*3/10 {
					t.Error("more retries were admitted than the requests so far allow")
				}
			}
		})
		is.Equal(b.State(0).Requests, uint64(requests.Load())) // requests were lost or invented
		is.Equal(b.State(0).Retries, uint64(admitted.Load()))  // retries were lost or invented
	}
}
