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

// queued returns a limit whose permits are in use, and as many waiters.
func queued(is *is.I, permits, queue, waiters int) (*gate.Limit, []*gate.Waiter) {
	l := gate.NewLimit(permits, queue)
	for range permits {
		enter(is, l, gate.Admitted)
	}
	var waiting []*gate.Waiter
	for range waiters {
		waiting = append(waiting, enter(is, l, gate.Queued))
	}
	return l, waiting
}

// servedOf tells who has been served.
func servedOf(waiters []*gate.Waiter) (served int) {
	for served < len(waiters) && ready(waiters[served]) {
		served++
	}
	for _, w := range waiters[served:] {
		if ready(w) {
			return -1 // out of order
		}
	}
	return served
}

func TestLimitGivesNewPermitsToThoseWhoWait(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		permits int
		served  int
		stats   [2]int
		next    gate.Decision
	}{
		{2, 0, [2]int{2, 3}, gate.Queued},
		{3, 1, [2]int{3, 2}, gate.Queued},
		{4, 2, [2]int{4, 1}, gate.Queued},
		{5, 3, [2]int{5, 0}, gate.Queued},
		{6, 3, [2]int{5, 0}, gate.Admitted}, // one more than there are waiters
		{math.MaxInt32, 3, [2]int{5, 0}, gate.Admitted},
	} {
		is := is.New(t)
		l, waiters := queued(is, 2, 5, 3)
		l.Configure(row.permits, 5)
		is.Equal(servedOf(waiters), row.served) // not in order, at once, or not so many
		is.Equal(stats(l), row.stats)           // what they were given is not in use
		enter(is, l, row.next)                  // and a newcomer gets what is left, if anything
	}
}

func TestLimitAdmitsNobodyUntilEnoughIsReleased(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l, waiters := queued(is, 5, 3, 2)
	l.Configure(3, 3)
	is.Equal(stats(l), [2]int{5, 2}) // whoever has a permit keeps it
	for left := 4; left >= 3; left-- {
		l.Release()
		is.Equal(servedOf(waiters), 0)      // a permit that is owed was passed on
		is.Equal(stats(l), [2]int{left, 2}) // instead of given back
	}
	l.Release()
	is.Equal(servedOf(waiters), 1)   // as many are in use as there are now
	is.Equal(stats(l), [2]int{3, 1}) // and so many stay in use

	l.Configure(1, 3)
	is.True(!l.Abandon(waiters[1])) // who waits while permits are owed can give up
	enter(is, l, gate.Queued)       // and a newcomer queues, though nobody is ahead
	l.Configure(2, 3)               // still one less than in use
	l.Release()
	l.Release()
	is.Equal(stats(l), [2]int{2, 0}) // the second release was for the newcomer
}

func TestLimitShorterQueueKeepsThoseWhoWait(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l, waiters := queued(is, 1, 3, 3)
	l.Configure(1, 1)
	is.Equal(stats(l), [2]int{1, 3}) // nobody was sent away
	enter(is, l, gate.Refused)       // and nobody is added
	l.Release()
	l.Release()
	is.Equal(servedOf(waiters), 2) // in order, as before
	enter(is, l, gate.Refused)     // the one place there is now is taken
	l.Release()
	is.Equal(servedOf(waiters), 3) // the last who was there before
	enter(is, l, gate.Queued)      // now it is free
	enter(is, l, gate.Refused)     // and now it is not

	l.Configure(1, 2)
	enter(is, l, gate.Queued) // a longer one takes more at once
	l.Configure(1, 0)
	is.Equal(stats(l), [2]int{1, 2}) // even no queue at all keeps them
	l.Release()
	l.Release()
	l.Release()
	is.Equal(stats(l), [2]int{0, 0}) // until they have had their turn
	enter(is, l, gate.Admitted)
	enter(is, l, gate.Refused)
}

func TestLimitKnowsWhatIsInUseThroughAnyChange(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(math.MaxInt32, 0)
	enter(is, l, gate.Admitted)
	enter(is, l, gate.Admitted)
	for _, permits := range []int{1, math.MaxInt32, 2, 3, 1} {
		l.Configure(permits, math.MaxInt32)
		is.Equal(stats(l), [2]int{2, 0}) // permits were lost or invented
	}
	l.Release()
	l.Release()
	is.Equal(recovered(l.Release), "gate: a limit's permit was released that nobody held") // two were held and three were released
	is.Equal(stats(l), [2]int{0, 0})                                                       // and the counts survive
}

func TestLimitKeepsItsNumbersIfNewOnesMakeNoSense(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := gate.NewLimit(1, 1)
	for _, numbers := range [][2]int{{0, 0}, {1, -1}, {math.MaxInt, 0}, {1, math.MaxInt}} {
		message := recovered(func() { gate.NewLimit(numbers[0], numbers[1]) })
		is.True(message != nil)                                                      // a new limit does not take them
		is.Equal(recovered(func() { l.Configure(numbers[0], numbers[1]) }), message) // nor does one that is in use
	}
	enter(is, l, gate.Admitted)
	enter(is, l, gate.Queued)
	enter(is, l, gate.Refused)
}

func TestLimitDoesNotAllocateWhenConfigured(t *testing.T) {
	is := is.New(t)
	l := gate.NewLimit(1, 0)
	is.Equal(testing.AllocsPerRun(100, func() { l.Configure(3, 1) }), 0.0)      // a change
	is.Equal(testing.AllocsPerRun(100, func() { l.Enter(); l.Release() }), 0.0) // a call after it
}

// Callers come and go while one of them changes the numbers. It is the only one that does, so that it knows what must
// hold between two changes, whatever the others do: nobody waits while a permit is free, and what is in use is at most
// what there is, or what was in use when there was more.
func TestLimitForgetsNobodyWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	const most, each = 5, 3_000
	l := gate.NewLimit(most, 4)
	var running, role, served, gaveUp atomic.Int64
	together(func(r *rand.Rand) {
		changes := role.Add(1) == 1
		for range each {
			if changes {
				permits := 1 + r.IntN(most)
				l.Configure(permits, r.IntN(6))
				before, _ := l.Stats()
				for range 3 {
					runtime.Gosched()
					inUse, waiting := l.Stats()
					if waiting > 0 && inUse < permits {
						t.Error("somebody waits, though a permit is free")
					}
					if inUse > max(permits, before) {
						t.Error("more are in use than there are, and than there were before")
					}
					before = inUse
				}
				continue
			}
			decision, w := l.Enter()
			switch {
			case decision == gate.Refused:
				runtime.Gosched()
				continue
			case decision == gate.Admitted:
			case r.IntN(3) > 0:
				<-w.Ready()
				served.Add(1)
			case !l.Abandon(w):
				gaveUp.Add(1)
				continue
			}
			if running.Add(1) > most {
				t.Error("more run at once than there ever were permits")
			}
			runtime.Gosched()
			running.Add(-1)
			l.Release()
		}
	})
	is.New(t).Equal(stats(l), [2]int{0, 0}) // a permit or a place was lost
	t.Logf("served %d, gave up %d", served.Load(), gaveUp.Load())
}
