package pipeline

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"
)

// The golden vectors: base 1 s, a constant random number, attempts 0 to 5, in
// ticks of 100 ns, truncated. One tick is left to the maths library.
var goldenTicks = map[float64][]int64{
	0.0:  {0, 13771822, 14600673, 28658498, 57178068, 114302724},
	0.25: {6469237, 10135699, 17204382, 34045098, 67983700, 135923779},
	0.5:  {8974049, 10930035, 20357479, 40459794, 80836316, 161636628},
	0.75: {11283602, 12501322, 24140006, 48094427, 96122639, 192215288},
}

func TestDecorrelatedJitterFollowsTheGoldenVectors(t *testing.T) {
	for r, want := range goldenTicks {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			is := is.New(t)
			b := Decorrelated(time.Second, 0, func() float64 { return r })
			for _, ticks := range want {
				got := int64(b.NextBackOff() / 100)
				is.True(got >= ticks-1 && got <= ticks+1) // the delay is the vector's, to a tick of 100 ns
			}
		})
	}
}

func TestDecorrelatedJitterStaysWithinItsBounds(t *testing.T) {
	// The largest single delays, in units of the base, for r up to 1.
	bounds := []float64{1.377, 2.837, 4.326, 8.584, 17.148, 34.288}
	rapid.Check(t, func(t *rapid.T) {
		b := Decorrelated(time.Second, 0, func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "r") })
		for i, most := range bounds {
			d := b.NextBackOff()
			if d < 0 || d.Seconds() > most+0.001 {
				t.Fatalf("delay %d is %v, want 0 to %v s", i, d, most)
			}
		}
	})
}

func TestDelaysAreCappedAfterJitterAndNeverOverflow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "base"))
		most := time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "cap"))
		b := Decorrelated(base, most, func() float64 { return rapid.Float64Range(0, 0.999999).Draw(t, "r") })
		for range rapid.IntRange(1, 40).Draw(t, "attempts") {
			d := b.NextBackOff()
			if d < 0 || most > 0 && d > most || base == 0 && d != 0 {
				t.Fatalf("delay %v with base %v and cap %v", d, base, most)
			}
		}
	})
}

func TestDelaysSaturateAfterThousandsOfAttempts(t *testing.T) {
	is := is.New(t)
	b := Decorrelated(24*time.Hour, 0, func() float64 { return 0.5 })
	capped := Decorrelated(24*time.Hour, time.Minute, func() float64 { return 0.5 })
	for range 10_000 {
		is.True(b.NextBackOff() >= 0)                // no overflow turns a delay negative
		is.True(capped.NextBackOff() <= time.Minute) // the cap holds when the sum is infinite
	}
	is.Equal(b.NextBackOff(), time.Duration(math.MaxInt64)) // it saturates at the longest duration
	is.Equal(capped.NextBackOff(), time.Minute)             // and at the cap if there is one
}

func TestExponentialDoublesUpToItsCap(t *testing.T) {
	is := is.New(t)
	b := Exponential(100*time.Millisecond, time.Second, false)
	var got []time.Duration
	for range 6 {
		got = append(got, b.NextBackOff().Round(time.Millisecond))
	}
	ms := time.Millisecond
	is.Equal(got, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms}) // doubling, then the cap
	is.Equal(Exponential(0, 0, false).NextBackOff(), time.Duration(0))                           // base 0 is no delay
	is.Equal(Exponential(0, time.Second, true).NextBackOff(), time.Duration(0))                  // with jitter too
}

func TestFullJitterIsEvenFromZeroToTheDelay(t *testing.T) {
	is := is.New(t)
	const draws = 4000
	for n, most := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		var sum, highest time.Duration
		for range draws {
			b := Exponential(100*time.Millisecond, 2*time.Second, true)
			for range n {
				b.NextBackOff()
			}
			d := b.NextBackOff()
			is.True(d >= 0 && d <= most+time.Microsecond) // never above the delay without jitter
			sum, highest = sum+d, max(highest, d)
		}
		mean := float64(sum) / draws / float64(most)
		is.True(mean > 0.45 && mean < 0.55)           // evenly spread: the mean is half (10 standard errors)
		is.True(float64(highest)/float64(most) > 0.9) // up to the very top
	}
}
