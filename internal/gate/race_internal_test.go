package gate

import (
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

func TestBreakerAdmitsWhenItClosesWhileSomebodyAsks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := NewBreaker(BreakerConfig{Sampling: time.Second, ProbeTimeout: 1})
	b.closed.Store(0)                                                              // what the load saw a moment before
	is.Equal(b.Admit(0), Admission{Admitted: true, Ticket: Ticket{generation: 1}}) // as any other attempt
}
