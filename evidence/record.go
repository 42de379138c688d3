package main

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// An outcome is what became of one call.
type outcome struct {
	began time.Duration // since the start of the play
	took  time.Duration // waits and all attempts included
	ok    bool
}

// A record is what happened in a play: the calls, and when each attempt arrived at the dependency.
type record struct {
	mu       sync.Mutex
	outcomes []outcome // in the order in which the calls ended
	arrivals []time.Duration
}

func (r *record) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
}

// A span is a time of the play; to is not in it.
type span struct{ from, to time.Duration }

func (s span) has(t time.Duration) bool { return t >= s.from && t < s.to }

// calls and successes are of the calls that began in the span.
func (r *record) calls(s span) (calls, successes int) {
	for _, o := range r.outcomes {
		if s.has(o.began) {
			calls++
			if o.ok {
				successes++
			}
		}
	}
	return calls, successes
}

// success is the share of the calls that began in the span and succeeded: 0 to 1, NaN if there was none.
func (r *record) success(s span) float64 {
	calls, successes := r.calls(s)
	return float64(successes) / float64(calls)
}

// attempts is how many arrived in the span.
func (r *record) attempts(s span) int {
	n := 0
	for _, at := range r.arrivals {
		if s.has(at) {
			n++
		}
	}
	return n
}

// within is how long the calls of the span that succeeded took, all but the slowest hundredth.
func (r *record) within(s span) time.Duration {
	var took []time.Duration
	for _, o := range r.outcomes {
		if s.has(o.began) && o.ok {
			took = append(took, o.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.SortFunc(took, cmp.Compare[time.Duration])
	return took[len(took)*99/100]
}
