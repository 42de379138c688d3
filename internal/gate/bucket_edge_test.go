package gate_test

import (
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// The corners of the allowed ranges, where 64 bits are not enough.
const (
	trillion = 1_000_000_000_000
	day      = 24 * time.Hour
	ever     = time.Duration(math.MaxInt64)
	debt     = -1_000_000_000_000_000_000 // the largest
)

func TestBucketIsExactAtTheEdgesOfItsRanges(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		rate      gate.Rate
		burst     int64
		at        time.Duration // after it was drained at zero
		available int64
		next      time.Duration
	}{
		{"fastest, 1ns", gate.Rate{Tokens: trillion, Per: 1}, trillion, 1, trillion, 0},
		{"fastest, at the end of time", gate.Rate{Tokens: trillion, Per: 1}, trillion, ever, trillion, 0},
		{"fastest, small burst", gate.Rate{Tokens: trillion, Per: 1}, 1, ever, 1, 0},
		{"slowest, a moment too early", gate.Rate{Tokens: 1, Per: day}, trillion, day - 1, 0, 1},
		{"slowest, on time", gate.Rate{Tokens: 1, Per: day}, trillion, day, 1, 0},
		{"slowest, at the end of time", gate.Rate{Tokens: 1, Per: day}, trillion, ever, 106_751, 0},
		{"2^64 tokens and more", gate.Rate{Tokens: trillion, Per: 1000}, trillion, ever, trillion, 0},
		{"2^63 tokens", gate.Rate{Tokens: sec.Nanoseconds(), Per: sec}, trillion, ever, trillion, 0},
		{"a trillion a day, 1ns", gate.Rate{Tokens: trillion, Per: day}, trillion, 1, 0, 86},
		{"a trillion a day, 86ns", gate.Rate{Tokens: trillion, Per: day}, trillion, 86, 0, 1},
		{"a trillion a day, 87ns", gate.Rate{Tokens: trillion, Per: day}, trillion, 87, 1, 0},
		{"a trillion a day, all but one", gate.Rate{Tokens: trillion, Per: day}, trillion, day - 1, trillion - 1, 0},
		{"a trillion a day", gate.Rate{Tokens: trillion, Per: day}, trillion, day, trillion, 0},
		{"coprime", gate.Rate{Tokens: 999_999_999_989, Per: day - 1}, trillion, day - 1, 999_999_999_989, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := drained(row.rate, row.burst)
			s := b.State(row.at)
			is.Equal(s.Available, row.available) // the product was cut off
			is.Equal(s.NextIn, row.next)         // the wait is not the first nanosecond at which it fits
		})
	}
}

func TestBucketWaitsAsLongAsATimeCanTell(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const lifetime = 106_751 // days in a Duration, rounded down
	b := drained(gate.Rate{Tokens: 1, Per: day}, trillion)
	take(is, b, 0, lifetime, ever, gate.Granted, lifetime*day) // 292 years
	take(is, b, 0, 1, ever, gate.TooSoon, ever)                // and a day: no time tells, so it is never promised
	take(is, b, 0, trillion, ever, gate.TooSoon, ever)         // far more than 2^64 nanoseconds
	is.Equal(b.State(0).Available, int64(-lifetime))           // nothing was taken for what was not promised

	// 2^63 - 1 is a multiple of 49.
	b = drained(gate.Rate{Tokens: 1, Per: 49}, 1)
	b.Settle(0, 0, ever.Nanoseconds()/49-1)
	is.Equal(b.State(0).NextIn, ever) // exactly all of time
	take(is, b, 0, 1, ever, gate.TooSoon, ever)
	take(is, b, 1, 1, ever, gate.Granted, ever-1) // a nanosecond less is a time
}

func TestBucketOwesAtMostTheLargestDebt(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(gate.Rate{Tokens: trillion, Per: 3}, trillion)
	b.State(1) // a third of a trillion, and a third of one
	b.Settle(1, 0, math.MaxInt64)
	is.Equal(b.State(1).Available, int64(debt)) // a server that claims nonsense is believed this far
	b.Settle(1, 0, math.MaxInt64)
	is.Equal(b.State(1).Available, int64(debt)) // and no further
	take(is, b, 1, 1, ever, gate.TooSoon, ever) // nobody may owe more
	take(is, b, 2, 1, ever, gate.Granted, 3*ms) // a third of a trillion less is a debt that time can tell
	b.Settle(2, math.MaxInt64, 0)
	is.Equal(b.State(2).Available, int64(trillion)) // a credit that large fills it
	b.Settle(2, math.MaxInt64, 0)
	is.Equal(b.State(2).Available, int64(trillion)) // also when it is full
	b.Settle(2, math.MaxInt64, math.MaxInt64)
	is.Equal(b.State(2).Available, int64(trillion)) // nothing is nothing

	exact := drained(gate.Rate{Tokens: 1, Per: day}, 1)
	exact.Settle(0, 0, -debt)
	is.Equal(exact.State(0).Available, int64(debt)) // the largest is a debt like any other
	is.Equal(exact.State(0).NextIn, ever)           // the longest product there is
}

func TestBucketConvertsPartsBetweenTheLongestPeriods(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(gate.Rate{Tokens: 1, Per: day}, 10)
	b.State(day - 1)
	b.Configure(day-1, gate.Rate{Tokens: 1, Per: day - 1}, 10)
	is.Equal(b.State(day-1).NextIn, time.Duration(1)) // almost a token stays almost a token
	b.Configure(day-1, gate.Rate{Tokens: 1, Per: day}, 10)
	is.Equal(b.State(day-1).NextIn, time.Duration(2)) // rounded down twice
}

func TestBucketCarriesBetweenTheHalvesOfAProduct(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(gate.Rate{Tokens: trillion, Per: day}, trillion)
	b.State(1)                                              // a trillion parts
	is.Equal(b.State(18_446_745).Available, int64(213_503)) // and 18446744 trillions, which is 2^64 but for 74 billions

	b = drained(gate.Rate{Tokens: trillion, Per: 1 << 46}, trillion)
	take(is, b, 1, 1<<18, 0, gate.TooSoon, 18_446_744) // 2^64 parts are missing but for a trillion

	b = drained(gate.Rate{Tokens: trillion, Per: 10*trillion - 1}, trillion)
	b.Settle(0, 0, 922_337_203_685_569_814)
	take(is, b, 5, 1, ever, gate.TooSoon, ever) // a part of a nanosecond more than all of time, rounded up, is not negative
}
