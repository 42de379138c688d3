package gate

import (
	"runtime"
	"testing"
	"time"

	"github.com/matryer/is"
)

// What only a race leads to, one step at a time.

func TestLimitDoesNotQueueOnCountsThatHaveChanged(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := NewLimit(1, 1)
	l.Enter()
	full := l.counts.Load()
	l.Release()                 // by somebody else, before the place is taken
	is.Equal(l.join(full), nil) // a permit is free, and this caller would wait for nobody
	inUse, queued := l.Stats()
	is.Equal([]int{inUse, queued}, []int{0, 0}) // and left a trace
}

func TestLimitReleaseFindsThatTheWaiterHasGone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := NewLimit(1, 1)
	l.Enter()
	_, w := l.Enter()
	l.Abandon(w)           // after the release saw a waiter, before it took the lock
	is.True(!l.handOver()) // nobody is there to take the permit
	inUse, queued := l.Stats()
	is.Equal([]int{inUse, queued}, []int{1, 0}) // so it is still in use, for the release to free
}

func TestLimitReleaseFindsThatItsPermitIsOwed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := NewLimit(2, 1)
	l.Enter()
	l.Enter()
	_, w := l.Enter()
	l.Configure(1, 1)      // after the release saw a waiter and nothing owed, before it took the lock
	is.True(!l.handOver()) // one of two permits has to go
	is.True(!l.Abandon(w)) // so nobody was given any
	inUse, _ := l.Stats()
	is.Equal(inUse, 2) // it is still in use, for the release to give it back
}

func TestLimitDoesNotQueueByNumbersThatHaveChanged(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := NewLimit(1, 1)
	l.Enter()
	full := l.counts.Load()
	l.Configure(1, 0)           // by somebody else, before the place is taken
	is.Equal(l.join(full), nil) // it took a place that is no longer there
	l.Configure(2, 1)
	is.Equal(l.join(full), nil) // or did not take the permit that is
}

// Half of a change shows: there are fewer permits already, and more are free than that, though one is in use.
func TestLimitReleaseWaitsForAChangeBeforeItPanics(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := NewLimit(3, 0)
	l.Enter()
	l.mu.Lock()
	l.permits.Store(2)
	released := make(chan any)
	go func() {
		defer func() { released <- recover() }()
		l.Release()
	}()
	for range 100 {
		runtime.Gosched() // let it come as far as the lock
	}
	l.counts.Add(^uint64(0)) // the other half
	l.mu.Unlock()
	is.Equal(<-released, nil) // its permit was its own
	inUse, _ := l.Stats()
	is.Equal(inUse, 0) // and was given back
}

func TestBreakerAdmitsWhenItClosesWhileSomebodyAsks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := NewBreaker(BreakerConfig{Sampling: time.Second, ProbeTimeout: 1})
	b.closed.Store(0)                                                              // what the load saw a moment before
	is.Equal(b.Admit(0), Admission{Admitted: true, Ticket: Ticket{generation: 1}}) // as any other attempt
}
