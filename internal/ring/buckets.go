package ring

import "time"

// bucketCount is how many buckets Buckets cuts its span into: ten, as circuit breakers in the field do (Polly).
const bucketCount = 10

// Tally is how many outcomes of each kind there were.
type Tally struct {
	Successes uint64
	Failures  uint64
}

// Total returns the number of outcomes of either kind.
func (t Tally) Total() uint64 { return t.Successes + t.Failures }

func (t Tally) plus(other Tally) Tally {
	return Tally{Successes: t.Successes + other.Successes, Failures: t.Failures + other.Failures}
}

// Buckets counts outcomes over a sliding span of time: in the current bucket, a tenth of the span, and the nine before
// it. What it covers is thus more than 0.9 of the span, and at most all of it. It is not safe for concurrent use: its
// owner has a lock already.
type Buckets struct {
	width   time.Duration // of a bucket
	began   time.Duration // when the current bucket began
	current int           // its place in tallies
	tallies [bucketCount]Tally
}

// NewBuckets returns empty buckets over span. The span is cut into ten, rounded up to the nanosecond. It panics unless
// span is above zero: settings are validated where they are named.
func NewBuckets(span time.Duration) *Buckets {
	return &Buckets{width: bucketWidth(span, bucketCount)}
}

// Configure replaces the span. What the buckets hold stays, as far as it is not older than the new span: an outcome
// counts as if it came at the end of its old bucket, or now, so that nothing leaves before its time and nothing stays for
// more than one old bucket longer. It panics unless span is above zero.
func (b *Buckets) Configure(now, span time.Duration) {
	next := NewBuckets(span)
	b.rotate(now)
	end := max(now, b.began) // of the current bucket: now
	next.began = end / next.width * next.width
	for i := range bucketCount { // from the current one backwards
		behind := next.began/next.width - end/next.width
		if end < 0 || behind >= bucketCount {
			break
		}
		to := &next.tallies[(bucketCount-behind)%bucketCount]
		*to = to.plus(b.tallies[(b.current+bucketCount-i)%bucketCount])
		end = b.began - time.Duration(i)*b.width - 1
	}
	*b = *next
}

// Add counts outcomes that became known now.
func (b *Buckets) Add(now time.Duration, t Tally) {
	b.rotate(now)
	b.tallies[b.current] = b.tallies[b.current].plus(t)
}

// Sum returns what the span holds now.
func (b *Buckets) Sum(now time.Duration) Tally {
	b.rotate(now)
	var sum Tally
	for _, t := range b.tallies {
		sum = sum.plus(t)
	}
	return sum
}

// Reset forgets every outcome.
func (b *Buckets) Reset() {
	b.tallies = [bucketCount]Tally{}
}

// rotate makes the bucket of now the current one and empties those that time has passed over. If now is in an earlier
// bucket, because time went back, everything stays as it is.
func (b *Buckets) rotate(now time.Duration) {
	elapsed := max(now, 0) - b.began
	if elapsed < b.width {
		return
	}
	passed := elapsed / b.width
	for range min(passed, bucketCount) { // more would empty the same buckets again
		b.current = (b.current + 1) % bucketCount
		b.tallies[b.current] = Tally{}
	}
	b.began += passed * b.width
}
