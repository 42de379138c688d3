package pipeline

import "sync"

// A sequence runs functions in the order of their numbers, from 1 without a gap,
// whoever brings them and however late. One at a time, without a lock held: a
// function may bring further ones. Nobody waits: what can't run yet is left to
// who brings the one before it.
//
// Each function is run by somebody. It is put among the waiting before its
// bringer looks whether it can run, both under mu: either the one before is done
// by then, and the bringer runs it, or whoever runs that one looks afterwards.
type sequence struct {
	mu      sync.Mutex
	done    uint64
	waiting map[uint64]func()
	running bool
}

func (q *sequence) run(n uint64, f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[uint64]func(){}
	}
	q.waiting[n] = f
	q.drain()
}

// drain runs what can run. It wants mu held, and holds it when it returns.
func (q *sequence) drain() {
	for !q.running {
		f, ok := q.waiting[q.done+1]
		if !ok {
			return
		}
		delete(q.waiting, q.done+1)
		q.done++
		q.step(f)
	}
}

func (q *sequence) step(f func()) {
	q.running = true
	returned := false
	defer func() {
		q.mu.Lock()
		q.running = false
		if !returned { // a panic is the bringer's; the others' functions run all the same
			q.drain()
		}
	}()
	q.mu.Unlock()
	f()
	returned = true
}
