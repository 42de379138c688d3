package gate_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// ready reports whether the waiter has been given a permit.
func ready(w *gate.Waiter) bool {
	select {
	case <-w.Ready():
		return true
	default:
		return false
	}
}

// enter enters, and fails unless the decision is the wanted one.
func enter(is *is.I, l *gate.Limit, want gate.Decision) *gate.Waiter {
	decision, w := l.Enter()
	is.Equal(decision, want)                    // another decision
	is.Equal(w != nil, decision == gate.Queued) // whoever is queued, and nobody else, has a place to wait at
	return w
}

func stats(l *gate.Limit) [2]int {
	inUse, queued := l.Stats()
	return [2]int{inUse, queued}
}

func TestLimitAdmitsThenQueuesThenRefuses(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(2, 1)
	is.Equal(stats(l), [2]int{0, 0}) // nobody is there
	enter(is, l, gate.Admitted)
	enter(is, l, gate.Admitted)
	w := enter(is, l, gate.Queued)
	enter(is, l, gate.Refused)
	is.Equal(stats(l), [2]int{2, 1}) // a refusal leaves no trace
	is.True(!ready(w))               // both permits are in use
	l.Release()
	is.True(ready(w))                // the permit was passed on
	is.Equal(stats(l), [2]int{2, 0}) // and never free in between
	enter(is, l, gate.Queued)        // so that nobody could overtake
	enter(is, l, gate.Refused)
}

func TestLimitWithoutAQueueRefusesAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 0)
	enter(is, l, gate.Admitted)
	enter(is, l, gate.Refused)
	l.Release()
	enter(is, l, gate.Admitted)
}

func TestLimitServesTheQueueInOrderAndSkipsWhoGaveUp(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 5)
	enter(is, l, gate.Admitted)
	var waiters []*gate.Waiter
	for range 5 {
		waiters = append(waiters, enter(is, l, gate.Queued))
	}
	is.True(!l.Abandon(waiters[1]))  // it had no permit yet
	is.True(!l.Abandon(waiters[4]))  // nor had the last
	is.Equal(stats(l), [2]int{1, 3}) // their places are free
	last := enter(is, l, gate.Queued)
	for i, next := range []*gate.Waiter{waiters[0], waiters[2], waiters[3], last} {
		is.True(!ready(next)) // served before its turn
		l.Release()
		is.True(ready(next))                 // not served in its turn
		is.Equal(stats(l), [2]int{1, 3 - i}) // one less is waiting
	}
	is.True(!ready(waiters[1])) // who gave up is never served
	is.True(!ready(waiters[4])) // who gave up is never served
	l.Release()
	is.Equal(stats(l), [2]int{0, 0}) // everybody has gone
}

func TestLimitAbandonTellsWhoAlreadyOwnsAPermit(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 1)
	enter(is, l, gate.Admitted)
	w := enter(is, l, gate.Queued)
	l.Release()
	is.True(l.Abandon(w))            // the permit was handed over, though nobody looked
	is.Equal(stats(l), [2]int{1, 0}) // and is in use until the owner releases it
	l.Release()
	is.Equal(stats(l), [2]int{0, 0}) // as anybody else
}

func TestLimitAbandonTwiceGivesUpOnePlace(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 2)
	enter(is, l, gate.Admitted)
	w := enter(is, l, gate.Queued)
	enter(is, l, gate.Queued)
	is.True(!l.Abandon(w))           // no permit
	is.True(!l.Abandon(w))           // and still none
	is.Equal(stats(l), [2]int{1, 1}) // the other one's place was given up
}

func TestLimitPanicsOnAPermitThatNobodyHeld(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 1)
	const message = "gate: a limit's permit was released that nobody held"
	is.Equal(recovered(l.Release), message) // nobody has entered yet
	enter(is, l, gate.Admitted)
	l.Release()
	is.Equal(recovered(l.Release), message) // one was held and two were released
	is.Equal(stats(l), [2]int{0, 0})        // the counts survive
}

func TestLimitPanicsOnNumbersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		permits, queue int
		message        any
	}{
		{1, 0, nil},
		{math.MaxInt32, math.MaxInt32, nil},
		{0, 0, "gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got 0 and 0"},
		{1, -1, "gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got 1 and -1"},
		{math.MaxInt, 0, "gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got 9223372036854775807 and 0"},
		{1, math.MaxInt, "gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got 1 and 9223372036854775807"},
	} {
		is.New(t).Equal(recovered(func() { gate.NewLimit(row.permits, row.queue) }), row.message) // wrong numbers, or a message that does not tell
	}
}

func TestLimitDoesNotAllocateUnlessItQueues(t *testing.T) {
	is := is.New(t)
	l := gate.NewLimit(1, 0)
	is.Equal(testing.AllocsPerRun(100, func() { l.Enter(); l.Release() }), 0.0) // a call alone
	l.Enter()
	is.Equal(testing.AllocsPerRun(100, func() { l.Enter() }), 0.0) // a refusal
	is.Equal(testing.AllocsPerRun(100, func() { l.Stats() }), 0.0) // a look
}

// Callers enter, wait or lose patience, and leave, all at once. A permit that is lost would leave somebody waiting for
// ever; one that is doubled would let in too many.
//
// They are sure to meet, however they are scheduled: nobody has a permit until somebody was refused, and nobody waits to
// the end until somebody has given up.
func TestLimitNeitherLosesNorDoublesAPermit(t *testing.T) {
	t.Parallel()
	const permits, each = 3, 3_000
	l := gate.NewLimit(permits, 3) // fewer than there are goroutines: some are refused
	for range permits {
		l.Enter()
	}
	var running, admitted, served, gaveUp, late, refused atomic.Int64
	var begun atomic.Bool
	together(func(r *rand.Rand) {
		for range each {
			decision, w := l.Enter()
			if r.IntN(4) == 0 {
				runtime.Gosched() // long enough for a permit to come before its waiter gives up
			}
			switch {
			case decision == gate.Refused:
				refused.Add(1)
				if gaveUp.Load() > 0 && begun.CompareAndSwap(false, true) {
					for range permits {
						l.Release()
					}
				}
				continue
			case decision == gate.Admitted:
				admitted.Add(1)
			case gaveUp.Load() > 0 && r.IntN(2) == 0:
				<-w.Ready()
				served.Add(1)
			case !l.Abandon(w):
				gaveUp.Add(1)
				continue
			default: // gave up when it had a permit already
				late.Add(1)
			}
			if running.Add(1) > permits {
				t.Error("more run at once than there are permits")
			}
			runtime.Gosched() // let the others come, queue and give up
			running.Add(-1)
			l.Release()
		}
	})
	is := is.New(t)
	is.Equal(stats(l), [2]int{0, 0})                                      // a permit or a place was lost
	is.True(served.Load() > 0 && gaveUp.Load() > 0 && refused.Load() > 0) // the goroutines never met
	total := admitted.Load() + served.Load() + gaveUp.Load() + late.Load() + refused.Load()
	is.Equal(total, int64(goroutines*each)) // a call ended in no way, or in two
	t.Logf("admitted %d, served %d, gave up %d, late %d, refused %d",
		admitted.Load(), served.Load(), gaveUp.Load(), late.Load(), refused.Load())
}

func TestLimitServesEverybodyWhoWaits(t *testing.T) {
	t.Parallel()
	const each = 5_000
	l := gate.NewLimit(1, goroutines)
	counter := 0 // guarded by the permit alone: the race detector watches
	together(func(*rand.Rand) {
		for range each {
			if decision, w := l.Enter(); decision == gate.Queued {
				<-w.Ready()
			}
			counter++
			runtime.Gosched()
			l.Release()
		}
	})
	is.New(t).Equal(counter, goroutines*each) // a permit was held by two at once
}
