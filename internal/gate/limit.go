package gate

import (
	"container/list"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Decision is the answer of [Limit.Enter].
type Decision uint8

const (
	// Refused: every permit is taken, and so is every place in the queue.
	Refused Decision = iota
	// Admitted: the caller holds a permit and owes a [Limit.Release].
	Admitted
	// Queued: the caller gets a permit when its turn comes, unless it gives up with [Limit.Abandon].
	Queued
)

// Waiter is a place in a limit's queue.
type Waiter struct {
	ready chan struct{}
	place *list.Element // nil once it has left the queue; guarded by the limit's mu
	owner bool          // whether it left with a permit; guarded by the limit's mu
}

// Ready returns a channel that is closed when the waiter is given a permit. From then on it owes a [Limit.Release].
func (w *Waiter) Ready() <-chan struct{} { return w.ready }

// Limit bounds how many calls run at once, and queues some more in the order of their arrival. It is safe for
// concurrent use. Entering and leaving take one compare-and-swap each, and a lock only where somebody queues.
//
// # Why no waiter is forgotten or overtaken
//
// One word holds how many permits are free, whether somebody waits, and whether the queue is full, so every change is
// made in sight of all three. A place is taken only while no permit is free, and a permit becomes free only while nobody
// waits: otherwise it passes to the first waiter and stays in use. Hence somebody waits only while nothing is free: a
// newcomer finds a free permit only if nobody is ahead of it, and a release finds nobody only if nobody is there.
//
// The two marks change only under the lock, together with the queue. A release that saw a waiter thus finds it in the
// queue once it holds the lock, or finds that it has gone, and looks again.
//
// # Why that holds when the numbers change
//
// Permits and places themselves are never asked for by those who enter, only what they come to, which is in the word.
// New numbers thus are one change of the word, and whoever saw the old ones fails its compare-and-swap or came first.
// That change takes the added permits and those who get them into account at once: if somebody waits afterwards,
// nothing is free. The queue follows before the lock is given back.
//
// Fewer permits than are in use leave less than none free. Every release then brings the number up by one and passes
// nothing on, whoever waits, until none is free and none is owed; from there on it is as before. A release that had set
// out to pass its permit on sees under the lock that one is owed, and looks again. Under the lock, while somebody waits
// and nothing is owed, nobody else can change the word: there is nothing to take, and every permit that comes back has
// to be passed on.
type Limit struct {
	counts atomic.Uint64 // see countsOf

	mu      sync.Mutex
	permits atomic.Int64 // written under mu, together with counts
	places  int
	queue   list.List // of *Waiter, the first to be served in front
}

// The word: the lower half is the number of free permits, on top of noneFree, for it may be below zero.
const (
	noneFree  = 1 << 31
	freeHalf  = 1<<32 - 1
	waiting   = 1 << 32 // somebody is in the queue
	queueFull = 1 << 33 // nobody may join it
)

func freeIn(counts uint64) int64 { return int64(counts&freeHalf) - noneFree }

// countsOf returns the word for that many free permits and waiters. It wants the lock held.
func (l *Limit) countsOf(free int64, waiters int) uint64 {
	counts := uint64(free + noneFree)
	if waiters > 0 {
		counts |= waiting
	}
	if waiters >= l.places {
		counts |= queueFull
	}
	return counts
}

// NewLimit returns a limit with that many permits, at least one, and that many places in its queue, zero or more. It
// panics if either is out of range.
func NewLimit(permits, queue int) *Limit {
	mustLimit(permits, queue)
	l := &Limit{places: queue}
	l.permits.Store(int64(permits))
	l.counts.Store(l.countsOf(int64(permits), 0))
	return l
}

func mustLimit(permits, queue int) {
	if permits < 1 || permits > math.MaxInt32 || queue < 0 || queue > math.MaxInt32 {
		//nolint:forbidigo // validated where they have names
		panic(fmt.Sprintf("gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got %d and %d",
			permits, queue))
	}
}

// Configure replaces the numbers of permits and places. Whoever has a permit or a place keeps it. Permits that are added
// go to those who wait, in their order, at once; if there are fewer than are in use, nobody is admitted until enough
// have been released. It panics if either number is out of range.
func (l *Limit) Configure(permits, queue int) {
	mustLimit(permits, queue)
	l.mu.Lock()
	defer l.mu.Unlock()
	added := int64(permits) - l.permits.Load()
	l.permits.Store(int64(permits))
	l.places = queue
	for {
		counts := l.counts.Load()
		free := freeIn(counts) + added
		served := max(min(free, int64(l.queue.Len())), 0)
		if l.counts.CompareAndSwap(counts, l.countsOf(free-served, l.queue.Len()-int(served))) {
			for range served {
				l.serve()
			}
			return
		}
	}
}

// Enter takes a permit if one is free, else a place in the queue if one is free. The waiter is nil unless the decision
// is [Queued].
func (l *Limit) Enter() (Decision, *Waiter) {
	for {
		counts := l.counts.Load()
		switch {
		case freeIn(counts) > 0:
			if l.counts.CompareAndSwap(counts, counts-1) {
				return Admitted, nil
			}
		case counts&queueFull != 0:
			return Refused, nil
		default:
			if w := l.join(counts); w != nil {
				return Queued, w
			}
		}
	}
}

// Release gives back a permit: to the first waiter if there is one and no permit is owed. It panics if no permit is in
// use, for then a caller has given back one that it did not have, and the limit would admit too many from here on.
func (l *Limit) Release() {
	for {
		counts := l.counts.Load()
		switch free := freeIn(counts); {
		case free >= l.permits.Load() && l.unused():
			panic("gate: a limit's permit was released that nobody held") //nolint:forbidigo // a bug of ours, not to be hidden
		case free >= 0 && counts&waiting != 0:
			if l.handOver() {
				return
			}
		case l.counts.CompareAndSwap(counts, counts+1):
			return
		}
	}
}

// Abandon gives up waiting, once. It returns true if the waiter had been given a permit before: the caller then owns it
// and owes a [Limit.Release], whether or not it looked at Ready.
func (l *Limit) Abandon(w *Waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.place != nil {
		l.queue.Remove(w.place)
		w.place = nil
		l.mark()
	}
	return w.owner
}

// Stats returns how many permits are in use and how many callers wait, both at the same moment.
func (l *Limit) Stats() (inUse, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.permits.Load() - freeIn(l.counts.Load())), l.queue.Len()
}

// unused reports whether no permit is in use. Asked without the lock, permits and counts could be from before and after
// a change.
func (l *Limit) unused() bool {
	inUse, _ := l.Stats()
	return inUse < 1
}

// join takes a place in the queue, or returns nil if the counts have changed since: there may be a permit now.
func (l *Limit) join(counts uint64) *Waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.counts.CompareAndSwap(counts, l.countsOf(freeIn(counts), l.queue.Len()+1)) {
		return nil
	}
	w := &Waiter{ready: make(chan struct{})}
	w.place = l.queue.PushBack(w)
	return w
}

// handOver passes a permit, which stays in use, to the first waiter. It returns false if all have gone, or if permits
// are owed by now.
func (l *Limit) handOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.Len() == 0 || freeIn(l.counts.Load()) < 0 {
		return false
	}
	l.serve()
	l.mark()
	return true
}

// serve gives a permit that is in use to the first waiter. It wants the lock held.
func (l *Limit) serve() {
	w := l.queue.Front().Value.(*Waiter)
	l.queue.Remove(w.place)
	w.place, w.owner = nil, true
	close(w.ready)
}

// mark brings the word up to date with the queue. It wants the lock held.
func (l *Limit) mark() {
	for {
		counts := l.counts.Load()
		if l.counts.CompareAndSwap(counts, l.countsOf(freeIn(counts), l.queue.Len())) {
			return
		}
	}
}
