package ring_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
	"github.com/matryer/is"
)

func TestBucketsHoldTheCurrentTenthAndNineBefore(t *testing.T) {
	t.Parallel()
	b := ring.NewBuckets(10 * sec)
	for _, step := range []struct {
		at   time.Duration
		add  ring.Tally
		want ring.Tally
	}{
		{at: 0, add: ring.Tally{Successes: 1}, want: ring.Tally{Successes: 1}},
		{at: 999 * ms, add: ring.Tally{Failures: 2}, want: ring.Tally{Successes: 1, Failures: 2}},
		{at: 5 * sec, add: ring.Tally{Successes: 3, Failures: 4}, want: ring.Tally{Successes: 4, Failures: 6}},
		{at: 10*sec - 1, want: ring.Tally{Successes: 4, Failures: 6}},
		{at: 10 * sec, want: ring.Tally{Successes: 3, Failures: 4}}, // the first tenth is out
		{at: 15*sec - 1, want: ring.Tally{Successes: 3, Failures: 4}},
		{at: 15 * sec, want: ring.Tally{}},
		{at: 1000 * time.Hour, add: ring.Tally{Failures: 1}, want: ring.Tally{Failures: 1}},
		{at: 20 * sec, add: ring.Tally{Failures: 1}, want: ring.Tally{Failures: 2}}, // back: everything stays
		{at: math.MinInt64, add: ring.Tally{Successes: 1}, want: ring.Tally{Successes: 1, Failures: 2}},
		{at: math.MaxInt64, add: ring.Tally{Failures: 1}, want: ring.Tally{Failures: 1}}, // the end of time
	} {
		is := is.New(t)
		b.Add(step.at, step.add)
		is.Equal(b.Sum(step.at), step.want) // the buckets hold the wrong tenths
	}
}

// Polly's vector: ten increments, one a second, read one second after the last.
func TestBucketsForgetTheFirstOfTenAfterTheSamplingDuration(t *testing.T) {
	t.Parallel()
	for _, offset := range []time.Duration{0, 1, 500 * ms, 999 * ms} {
		b := ring.NewBuckets(10 * sec)
		for i := range 10 {
			b.Add(offset+time.Duration(i)*sec, ring.Tally{Successes: 1})
		}
		is.New(t).Equal(b.Sum(offset+10*sec).Total(), uint64(9)) // the first of ten must be out, and only that
	}
}

func TestBucketsForgetEverythingWhenReset(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := ring.NewBuckets(10 * sec)
	b.Add(sec, ring.Tally{Successes: 1, Failures: 1})
	b.Add(3*sec, ring.Tally{Successes: 1, Failures: 1})
	b.Reset()
	is.Equal(b.Sum(3*sec), ring.Tally{}) // something survived
	b.Add(4*sec, ring.Tally{Failures: 5})
	is.Equal(b.Sum(13*sec), ring.Tally{Failures: 5}) // counting goes on
	is.Equal(b.Sum(14*sec), ring.Tally{})            // in the bucket of its time
}

func TestBucketsAgreeWithAListOfEvents(t *testing.T) {
	t.Parallel()
	type event struct {
		at    time.Duration
		tally ring.Tally
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 100 {
		span := time.Duration(1 + r.Int64N(1000))
		width := (span + 9) / 10
		buckets := ring.NewBuckets(span)
		var events []event
		var now, latest time.Duration
		for range 200 {
			now += pause(byte(r.Uint32()), width)
			latest = max(latest, now)
			tally := ring.Tally{Successes: r.Uint64N(3), Failures: r.Uint64N(3)}
			buckets.Add(now, tally)
			events = append(events, event{latest, tally})
			var want ring.Tally
			for _, e := range events {
				if latest/width-e.at/width < 10 {
					want.Successes += e.tally.Successes
					want.Failures += e.tally.Failures
				}
			}
			is.New(t).Equal(buckets.Sum(now), want) // the buckets and the list of events differ
		}
	}
}
