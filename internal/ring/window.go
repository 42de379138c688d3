package ring

import (
	"sync/atomic"
	"time"
)

// windowBuckets is how many buckets a Window cuts its span into. Thirty keep the blur at 3.3 % of the span for half a
// kilobyte a snapshot.
const windowBuckets = 30

// cacheLine keeps the totals apart, so that counting a request does not slow down reading the retries. 128 rather than
// 64: Apple's arm64 has lines of that size, and amd64 fetches pairs of lines.
const cacheLine = 128

// Counts is what a [Window] holds at one moment.
type Counts struct {
	Requests uint64 // first attempts
	Retries  uint64 // admitted retries
}

// Mark is how many retries a window had ever admitted when [Window.Read] counted them.
type Mark uint64

// Window counts requests and admitted retries over a sliding span of time. It is safe for concurrent use and takes no
// lock: read it with [Window.Read], decide, and book the retry with [Window.AddRetry], which fails if another retry was
// booked meanwhile.
//
// Two totals grow for ever. A snapshot, never changed once published, says what they were when each of the last 31
// buckets began, and what the window holds is the totals less the oldest of these. The window covers the current bucket
// and the 30 before it: never less than the span, and less than one bucket more. Nothing is ever set back to zero, so a
// rotation has nothing to lose.
//
// # Why no retry is ever admitted on stale counts
//
// A request is counted by one addition, and that addition is when it happens, in whatever bucket is current by then. A
// goroutine held up between looking at the clock and counting counts later, but it counts, and once.
//
// Whoever first sees that a bucket is over reads the totals, writes them down as the start of the next one, and
// publishes by one compare-and-swap; who loses that race drops its copy. The totals are read after the snapshot they
// extend, so starts never decrease. They are read retries first: a retry that slips in between the two reads belongs to
// the new bucket, a request that does so to the old one. Retries then stay longer, requests leave earlier, and both err
// on the dependency's side.
//
// Read loads the requests, then the retries, then makes sure that its snapshot is still the published one. It then was
// so throughout: nobody can publish it twice, nor reuse its address while Read holds it. The load of the retries is the
// moment of decision: at that moment Retries is exact, and Requests, a little older, is a lower bound.
//
// AddRetry moves the total of retries on from exactly the value that Read saw. That total only grows, so finding the
// value again means that nobody was admitted since, and Retries was still exact (no ABA). If the window rotated between
// Read and AddRetry, the decision stands for the window of Read, and the retry is booked in the newer bucket, where it
// stays longer.
//
// Nobody waits for anybody: Read begins anew only after a rotation or a change of the span, and a failed AddRetry means
// that another retry was admitted.
//
// # Why it stays so when the span changes
//
// The span, and the terms by which the owner decides, are part of the snapshot. Whoever reads thus has counts and terms
// of one moment, and a new span is one more snapshot to publish, with the same compare-and-swap. The totals go on: what
// is decided before the change and booked after it is in the new window, and it is booked only if nobody was admitted
// in between, so the order "decision, change, all others" is what happened. At most one retry can be booked so late: it
// makes all other marks from before the change void.
//
// The new snapshot needs no new reading of the totals. Each of its buckets starts with what the totals were at the last
// border of the old ones that is not after its own. It thus counts an event as if it came at the end of its old bucket,
// or now: nothing leaves before its time, and nothing stays for more than one old bucket longer. Requests are rounded
// like retries, for what the window holds is then what happened in some interval that did exist. Dropping requests early
// would not be on the dependency's side: there are rules that let everything pass while requests are few.
type Window struct {
	_        [cacheLine]byte
	requests atomic.Uint64
	_        [cacheLine]byte
	retries  atomic.Uint64
	_        [cacheLine]byte
	latest   atomic.Pointer[snapshot]
	_        [cacheLine]byte
}

// snapshot is immutable once published.
type snapshot struct {
	width  time.Duration             // of a bucket
	terms  any                       // the owner's
	began  time.Duration             // when the current bucket began: a multiple of width
	starts [windowBuckets + 1]Counts // the totals when each bucket began, oldest first, the current one last
}

// NewWindow returns an empty window over span. The span is cut into 30 buckets, rounded up to the nanosecond. It panics
// unless span is above zero: settings are validated where they are named.
func NewWindow(span time.Duration) *Window {
	w := new(Window)
	w.latest.Store(&snapshot{width: bucketWidth(span, windowBuckets)})
	return w
}

// Configure replaces the span, and the terms that [Window.ReadTerms] returns. What the window holds stays, as far as it
// is not older than the new span. It panics unless span is above zero.
//
// If time goes back at that moment, it stands still at the beginning of the current bucket only, for the window does
// not know more of it.
func (w *Window) Configure(now, span time.Duration, terms any) {
	width := bucketWidth(span, windowBuckets)
	for {
		s := w.rotate(now)
		next := s.cut(now, width)
		next.terms = terms
		if w.latest.CompareAndSwap(s, next) {
			return
		}
	}
}

// AddRequest counts one request.
func (w *Window) AddRequest(now time.Duration) {
	w.rotate(now)
	w.requests.Add(1)
}

// Read returns what the window holds, and the mark that [Window.AddRetry] takes.
func (w *Window) Read(now time.Duration) (Counts, Mark) {
	counts, mark, _ := w.ReadTerms(now)
	return counts, mark
}

// ReadTerms is [Window.Read] with the terms that were in force at that moment: those of the last [Window.Configure], nil
// if there was none. A retry booked with the mark is exact by these terms.
func (w *Window) ReadTerms(now time.Duration) (Counts, Mark, any) {
	for {
		s := w.rotate(now)
		requests := w.requests.Load() // before the retries: too few requests are safe, too few retries are not
		retries := w.retries.Load()
		if w.latest.Load() != s {
			continue // the oldest start no longer belongs to these totals, nor the terms to this moment
		}
		oldest := s.starts[0]
		return Counts{Requests: requests - oldest.Requests, Retries: retries - oldest.Retries}, Mark(retries), s.terms
	}
}

// AddRetry counts one retry, unless another was counted since [Window.Read] returned the mark: then it changes nothing
// and returns false, and the decision has to be made again on a new reading.
func (w *Window) AddRetry(m Mark) bool {
	return w.retries.CompareAndSwap(uint64(m), uint64(m)+1)
}

// rotate returns the snapshot whose current bucket is the one of now, or a later one if time went back or another
// goroutine is ahead.
func (w *Window) rotate(now time.Duration) *snapshot {
	now = max(now, 0)
	for {
		s := w.latest.Load()
		if now-s.began < s.width { // also when now is before the bucket: the window stands still
			return s
		}
		next := s.next(now, w.totals())
		if w.latest.CompareAndSwap(s, next) {
			return next
		}
	}
}

// totals reads the totals for the start of a bucket. The retries come first, so that one which slips in between counts
// in the new bucket.
func (w *Window) totals() Counts {
	retries := w.retries.Load()
	return Counts{Requests: w.requests.Load(), Retries: retries}
}

// next returns the snapshot for the bucket of now. That bucket, and any that passed without an event since s, began with
// the given totals.
func (s *snapshot) next(now time.Duration, totals Counts) *snapshot {
	passed := (now - s.began) / s.width
	next := &snapshot{width: s.width, terms: s.terms, began: s.began + passed*s.width}
	kept := copy(next.starts[:], s.starts[min(passed, windowBuckets+1):])
	for i := kept; i < len(next.starts); i++ {
		next.starts[i] = totals
	}
	return next
}

// cut returns the snapshot for buckets of another width. Of the old borders it takes, for each new one, the last that is
// not after it; what is before the oldest is gone.
func (s *snapshot) cut(now, width time.Duration) *snapshot {
	began := max(now, s.began) / width * width
	next := &snapshot{width: width, began: began}
	from, border := windowBuckets, s.began
	for i := windowBuckets; i >= 0; i-- {
		for border > began && from > 0 {
			from--
			border -= s.width
		}
		next.starts[i] = s.starts[from]
		began = max(began-width, 0) // nothing is before zero, and a wide bucket could reach beyond what a Duration holds
	}
	return next
}

// bucketWidth cuts span into count buckets, rounding up so that they cover all of it.
func bucketWidth(span time.Duration, count int) time.Duration {
	if span <= 0 {
		panic("ring: the span must be above zero, got " + span.String()) //nolint:forbidigo // validated where it has a name
	}
	return (span-1)/time.Duration(count) + 1
}
