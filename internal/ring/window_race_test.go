package ring_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
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

func TestWindowLosesNoRequestWhileItRotates(t *testing.T) {
	t.Parallel()
	const each = 20_000
	w := ring.NewWindow(30 * sec)
	var clock atomic.Int64
	together(func(r *rand.Rand) {
		for range each {
			// Thirty buckets in all, so that nothing may leave the window.
			now := clock.Add(r.Int64N(int64(2 * 30 * sec / (goroutines * each))))
			w.AddRequest(time.Duration(now))
		}
	})
	counts, _ := w.Read(30 * sec)
	is.New(t).Equal(counts.Requests, uint64(goroutines*each)) // a rotation lost requests or counted them twice
}

// permit is what an admitted retry saw.
type permit struct {
	mark   ring.Mark
	counts ring.Counts
	at     time.Duration
}

// TestWindowAdmitsNoRetryTooManyWhileItRotates lets goroutines share a clock that they move themselves, and admit at
// most limit retries per window.
//
// What holds exactly, whatever the schedule: every admitted retry has a mark of its own (the compare-and-swap of two
// cannot succeed from the same value), together they have no gaps, and the count that each was admitted on is what was
// admitted before it since a start that never goes back. No cover of the window thus ever holds more than limit.
//
// By the goroutines' own readings of the clock, any span holds at most limit + goroutines - 1. A goroutine that is held
// up after it read the clock is booked later than it says: say its reading is in the span, but the window has rotated
// past the span by then. It can be off like that once, for its next reading is past the span. And the goroutine that
// rotated the window past the span read such a time itself. All others in the span fit into one cover.
func TestWindowAdmitsNoRetryTooManyWhileItRotates(t *testing.T) {
	t.Parallel()
	const each, limit, span = 5_000, 50, 30 * sec
	w := ring.NewWindow(span)
	var clock atomic.Int64
	var mu sync.Mutex
	var permits []permit
	together(func(r *rand.Rand) {
		var mine []permit
		for range each {
			now := time.Duration(clock.Add(r.Int64N(int64(span / 500))))
			for {
				counts, mark := w.Read(now)
				if counts.Retries >= limit {
					break
				}
				if w.AddRetry(mark) {
					mine = append(mine, permit{mark, counts, now})
					break
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		permits = append(permits, mine...)
	})

	is := is.New(t)
	is.True(len(permits) > 10*limit) // the clock did not pass enough windows to show anything
	slices.SortFunc(permits, func(a, b permit) int { return cmp.Compare(a.mark, b.mark) })
	var start uint64
	for i, p := range permits {
		is.Equal(p.mark, ring.Mark(i))                    // two retries have one mark, or nobody has it
		is.True(uint64(p.mark)-p.counts.Retries >= start) // the start of the window went back
		start = uint64(p.mark) - p.counts.Retries
	}

	slices.SortFunc(permits, func(a, b permit) int { return cmp.Compare(a.at, b.at) })
	oldest := 0
	for i, p := range permits {
		for p.at-permits[oldest].at >= span {
			oldest++
		}
		is.True(i-oldest+1 <= limit+goroutines-1) // more retries in a span than its limit and late bookings explain
	}
}
