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
// concurrent use. Entering and leaving take one compare-and-swap each; a lock is taken only where somebody queues.
//
// # Why no waiter is forgotten or overtaken
//
// One word holds both counts, permits in use and places taken in the queue, so every change is made in sight of both. A
// place is taken only while all permits are in use, and a permit becomes free only while nobody waits: otherwise it
// passes to the first waiter and stays in use. Hence somebody waits only while nothing is free: a newcomer finds a free
// permit only if nobody is ahead of it, and a release finds nobody only if nobody is there.
//
// The count of places changes only under the lock, together with the queue. A release that saw a waiter thus finds it in
// the queue once it holds the lock, or finds that it has gone, and looks again.
type Limit struct {
	permits, places uint64
	counts          atomic.Uint64 // in use in the lower half, waiting in the upper

	mu    sync.Mutex
	queue list.List // of *Waiter, the first to be served in front
}

// oneWaiting is a place taken in the counts' upper half. A permit in use is simply one.
const oneWaiting = 1 << 32

func usedIn(counts uint64) uint64    { return counts % oneWaiting }
func waitingIn(counts uint64) uint64 { return counts / oneWaiting }

// NewLimit returns a limit with that many permits, at least one, and that many places in its queue, zero or more. It
// panics if either is out of range.
func NewLimit(permits, queue int) *Limit {
	if permits < 1 || permits > math.MaxInt32 || queue < 0 || queue > math.MaxInt32 {
		//nolint:forbidigo // validated where they have names
		panic(fmt.Sprintf("gate: a limit needs 1 to 2147483647 permits and 0 to 2147483647 places, got %d and %d",
			permits, queue))
	}
	return &Limit{permits: uint64(permits), places: uint64(queue)}
}

// Enter takes a permit if one is free, else a place in the queue if one is free. The waiter is nil unless the decision
// is [Queued].
func (l *Limit) Enter() (Decision, *Waiter) {
	for {
		counts := l.counts.Load()
		switch {
		case usedIn(counts) < l.permits:
			if l.counts.CompareAndSwap(counts, counts+1) {
				return Admitted, nil
			}
		case waitingIn(counts) >= l.places:
			return Refused, nil
		default:
			if w := l.join(counts); w != nil {
				return Queued, w
			}
		}
	}
}

// Release gives back a permit: to the first waiter if there is one. It panics if no permit is in use, for then a caller
// has given back one that it did not have, and the limit would admit too many from here on.
func (l *Limit) Release() {
	for {
		counts := l.counts.Load()
		switch {
		case usedIn(counts) == 0:
			panic("gate: a limit's permit was released that nobody held") //nolint:forbidigo // a bug of ours, not to be hidden
		case waitingIn(counts) > 0:
			if l.handOver() {
				return
			}
		case l.counts.CompareAndSwap(counts, counts-1):
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
		l.remove(w)
	}
	return w.owner
}

// Stats returns how many permits are in use and how many callers wait, both at the same moment.
func (l *Limit) Stats() (inUse, queued int) {
	counts := l.counts.Load()
	return int(usedIn(counts)), int(waitingIn(counts))
}

// join takes a place in the queue, or returns nil if the counts have changed since: there may be a permit now.
func (l *Limit) join(counts uint64) *Waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.counts.CompareAndSwap(counts, counts+oneWaiting) {
		return nil
	}
	w := &Waiter{ready: make(chan struct{})}
	w.place = l.queue.PushBack(w)
	return w
}

// handOver passes a permit, which stays in use, to the first waiter. It returns false if all have gone.
func (l *Limit) handOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	front := l.queue.Front()
	if front == nil {
		return false
	}
	w := front.Value.(*Waiter)
	w.owner = true
	l.remove(w)
	close(w.ready)
	return true
}

// remove takes the waiter out of the queue and out of the counts. It wants the lock held.
func (l *Limit) remove(w *Waiter) {
	l.queue.Remove(w.place)
	w.place = nil
	l.counts.Add(^uint64(oneWaiting - 1)) // minus one place
}
