package ring_test

import (
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
	"github.com/matryer/is"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func TestWindowHoldsTheCurrentBucketAndThirtyBefore(t *testing.T) {
	t.Parallel()
	w := ring.NewWindow(30 * sec)
	for _, step := range []struct {
		at       time.Duration
		requests int
		want     uint64
	}{
		{at: 0, requests: 3, want: 3},
		{at: 999 * ms, requests: 1, want: 4},
		{at: 1 * sec, requests: 5, want: 9},
		{at: 30*sec + 999*ms, requests: 0, want: 9}, // the first bucket is the thirtieth before this one
		{at: 31 * sec, requests: 0, want: 5},        // and now the thirty-first
		{at: 31*sec + 999*ms, requests: 2, want: 7},
		{at: 32 * sec, requests: 0, want: 2},
		{at: 61*sec + 999*ms, requests: 0, want: 2},
		{at: 62 * sec, requests: 0, want: 0},
		{at: 1000 * time.Hour, requests: 1, want: 1}, // far ahead, with everything in between empty
		{at: 1000*time.Hour + 31*sec, want: 0},
		{at: math.MaxInt64, requests: 1, want: 1}, // the end of time
		{at: math.MaxInt64 - 1, requests: 1, want: 2},
	} {
		is := is.New(t)
		for range step.requests {
			w.AddRequest(step.at)
		}
		counts, _ := w.Read(step.at)
		is.Equal(counts, ring.Counts{Requests: step.want}) // the window holds the wrong buckets
	}
}

func TestWindowCoversItsSpanAndLessThanOneBucketMore(t *testing.T) {
	t.Parallel()
	const span, width = 3 * sec, 100 * ms
	for _, at := range []time.Duration{0, 1, 50 * ms, 99 * ms, 100*ms - 1, 100 * ms, 12345 * ms} {
		is := is.New(t)
		w := ring.NewWindow(span)
		w.AddRequest(at)
		kept, _ := w.Read(at + span)
		is.Equal(kept.Requests, uint64(1)) // an event one span old is still in the window
		last := at/width*width + span + width
		kept, _ = w.Read(last - 1)
		is.Equal(kept.Requests, uint64(1)) // it stays until its bucket is the thirty-first before
		gone, _ := w.Read(last)
		is.Equal(gone.Requests, uint64(0)) // one bucket more than the span is the most that the window covers
	}
}

func TestWindowRoundsItsBucketsUpToCoverTheSpan(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(31) // buckets of 2 ns
	w.AddRequest(0)
	counts, _ := w.Read(61)
	is.Equal(counts.Requests, uint64(1)) // 30 whole buckets of 2 ns cover 61
	counts, _ = w.Read(62)
	is.Equal(counts.Requests, uint64(0)) // the thirty-first bucket is out
}

func TestWindowFreezesWhileTimeIsBehind(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	w.AddRequest(100 * sec)
	w.AddRequest(10 * sec)
	w.AddRequest(-5 * sec)
	w.AddRequest(math.MinInt64)
	counts, _ := w.Read(-1)
	is.Equal(counts.Requests, uint64(4)) // events of an earlier time count in the latest bucket
	counts, _ = w.Read(130 * sec)
	is.Equal(counts.Requests, uint64(4)) // and stay as long as it
	counts, _ = w.Read(131 * sec)
	is.Equal(counts.Requests, uint64(0)) // and leave with it
}

func TestWindowAdmitsOneRetryPerReading(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	_, first := w.Read(0)
	_, second := w.Read(0)
	is.True(w.AddRetry(first))   // nobody was admitted since this reading
	is.True(!w.AddRetry(second)) // the first retry was
	is.True(!w.AddRetry(first))  // a mark is good for one retry
	counts, third := w.Read(0)
	is.Equal(counts, ring.Counts{Retries: 1}) // a refused retry is not counted
	is.True(w.AddRetry(third))                // a new reading, a new chance
	counts, _ = w.Read(30 * sec)
	is.Equal(counts, ring.Counts{Retries: 2}) // retries stay for the span
	counts, _ = w.Read(31 * sec)
	is.Equal(counts, ring.Counts{}) // and no longer
}

func TestWindowBooksARetryWhereItIsAddedNotWhereItWasRead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	_, mark := w.Read(0)
	w.AddRequest(5 * sec)          // time goes on between the reading and the booking
	is.True(w.AddRetry(mark))      // requests do not spoil a reading
	c, _ := w.Read(35 * sec)       // thirty buckets after the fifth
	is.Equal(c.Retries, uint64(1)) // the retry is in the bucket of the fifth second
	c, _ = w.Read(36 * sec)
	is.Equal(c.Retries, uint64(0)) // with which it leaves
}

func TestConstructorsPanicWithoutASpan(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, span := range []time.Duration{0, -sec} {
		message := "ring: the span must be above zero, got " + span.String()
		is.Equal(recovered(func() { ring.NewWindow(span) }), message)  // a window needs a span
		is.Equal(recovered(func() { ring.NewBuckets(span) }), message) // buckets need a span
	}
	is.Equal(recovered(func() { ring.NewWindow(1) }), nil)  // one nanosecond is a span
	is.Equal(recovered(func() { ring.NewBuckets(1) }), nil) // one nanosecond is a span
}

// recovered returns what f panics with.
func recovered(f func()) (reason any) {
	defer func() { reason = recover() }()
	f()
	return nil
}

func TestWindowDoesNotAllocateWithinABucket(t *testing.T) {
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	is.Equal(testing.AllocsPerRun(100, func() { w.AddRequest(sec) }), 0.0) // a request allocates
	is.Equal(testing.AllocsPerRun(100, func() {                            // a retry allocates
		_, mark := w.Read(sec)
		w.AddRetry(mark)
	}), 0.0)
}
