package gate

import (
	"sync/atomic"
	"time"
)

// Throttle is the time until which somebody has asked to be left alone, by a 429 with Retry-After for example. The zero
// value is one that nobody has asked for. It is safe for concurrent use and takes no lock.
//
// One word holds the end, and nothing else is kept: looking does not write, so that any number of callers may look at
// once. This is the one gate that a clock that goes back does not freeze; what is left grows by as much.
type Throttle struct {
	end atomic.Int64 // a time.Duration since the base, zero or more; only Clear lowers it
}

// Until returns how long the throttle lasts from now: zero if it is over or was never asked for.
func (t *Throttle) Until(now time.Duration) time.Duration {
	return max(time.Duration(t.end.Load())-max(now, 0), 0)
}

// Extend makes it last at least so long from now, and never shortens it: of several answers the longest counts, in
// whatever order they come in. Zero or less changes nothing. What would end after 292 years ends then.
func (t *Throttle) Extend(now, length time.Duration) {
	if length <= 0 {
		return
	}
	now = max(now, 0)
	end := int64(now + min(length, forever-now))
	for {
		known := t.end.Load()
		if known >= end || t.end.CompareAndSwap(known, end) {
			return
		}
	}
}

// Clear ends it at once.
func (t *Throttle) Clear() {
	t.end.Store(0)
}
