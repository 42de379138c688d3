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

func TestBucketsKeepWhatTheyHoldWhenTheirSpanChanges(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		to, at time.Duration // of the change; one outcome a second came before, from 0 to 9
		want   uint64        // right after it
		until  time.Duration // at which the latest outcome has left
	}{
		{"the same", 10 * sec, 9 * sec, 10, 19 * sec},
		{"longer", 20 * sec, 9 * sec, 10, 28 * sec}, // the tenth of two seconds from 8 on
		{"much longer", 10 * time.Hour, 9 * sec, 10, 10 * time.Hour},
		{"shorter", 5 * sec, 9 * sec, 6, 14 * sec},           // the one of 4 counts as of 5, less a nanosecond
		{"much shorter", 10 * ms, 9 * sec, 2, 9*sec + 10*ms}, // so does the one of 8, as of 9
		{"later", 5 * sec, 12 * sec, 3, 14*sec + 500*ms},     // the one of 9 counts as of 10
		{"too late", 5 * sec, 15 * sec, 0, 15 * sec},
		{"by a clock that went back", 10 * ms, 0, 2, 9*sec + 10*ms},
		{"the longest", math.MaxInt64, 9 * sec, 10, math.MaxInt64},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := ring.NewBuckets(10 * sec)
			for i := range 10 {
				b.Add(time.Duration(i)*sec, ring.Tally{Failures: 1})
			}
			b.Configure(row.at, row.to)
			is.Equal(b.Sum(row.at), ring.Tally{Failures: row.want}) // what is within the new span, rounded up to old tenths
			if row.want > 0 {
				is.True(b.Sum(row.until-1).Failures > 0) // the latest left too early
			}
			if row.until < math.MaxInt64 {
				is.Equal(b.Sum(row.until), ring.Tally{}) // the latest stays too long
			}
		})
	}
}
