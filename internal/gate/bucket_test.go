package gate_test

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// perMinute is a rate of n a minute.
func perMinute(n int64) gate.Rate { return gate.Rate{Tokens: n, Per: time.Minute} }

// take takes, and fails unless the answer is the wanted one.
func take(is *is.I, b *gate.Bucket, now time.Duration, n int64, longest time.Duration, want gate.Grant, wait time.Duration) {
	is.Helper()
	got, left := b.Take(now, n, longest)
	is.Equal(got, want)  // another answer
	is.Equal(left, wait) // another wait
}

// drained returns an empty bucket.
func drained(r gate.Rate, burst int64) *gate.Bucket {
	b := gate.NewBucket(r, burst)
	b.Take(0, burst, 0)
	return b
}

func TestBucketGrantsABurstAndThenWhatFlowsIn(t *testing.T) {
	t.Parallel()
	b := gate.NewBucket(perMinute(60), 10)
	for _, step := range []struct {
		at        time.Duration
		n         int64
		want      gate.Grant
		wait      time.Duration
		available int64 // afterwards
		next      time.Duration
	}{
		{at: 0, n: 7, want: gate.Granted, available: 3},
		{at: 0, n: 4, want: gate.TooSoon, wait: sec, available: 3},
		{at: 0, n: 3, want: gate.Granted, available: 0, next: sec},
		{at: 0, n: 1, want: gate.TooSoon, wait: sec, available: 0, next: sec},
		{at: 0, n: 10, want: gate.TooSoon, wait: 10 * sec, available: 0, next: sec},
		{at: 400 * ms, n: 1, want: gate.TooSoon, wait: 600 * ms, available: 0, next: 600 * ms},
		{at: sec - 1, n: 1, want: gate.TooSoon, wait: 1, available: 0, next: 1},
		{at: sec, n: 1, want: gate.Granted, available: 0, next: sec},
		{at: 3500 * ms, n: 2, want: gate.Granted, available: 0, next: 500 * ms}, // the half token stays
		{at: 4 * sec, n: 1, want: gate.Granted, available: 0, next: sec},
		{at: time.Hour, n: 1, want: gate.Granted, available: 9}, // no more than a burst was saved
		{at: time.Hour, n: 9, want: gate.Granted, available: 0, next: sec},
	} {
		is := is.New(t)
		take(is, b, step.at, step.n, 0, step.want, step.wait)
		is.Equal(b.State(step.at), gate.BucketState{ // the level is not what flowed in less what was taken
			Available: step.available, Burst: 10, Rate: perMinute(60), NextIn: step.next,
		})
	}
}

func TestBucketRefillsByFractionsWithoutRounding(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{1, 3, 7, 1000, 333_333, 333_333_333, sec} {
		is := is.New(t)
		b := drained(gate.Rate{Tokens: 3, Per: sec}, 5)
		take(is, b, 0, 1, 0, gate.TooSoon, 333_333_334) // a third of a second, rounded up
		for at := max(0, sec-5000*step); at < sec; at += step {
			b.State(at)
		}
		take(is, b, sec-1, 3, 0, gate.TooSoon, 1)                 // a nanosecond is missing
		take(is, b, sec, 3, 0, gate.Granted, 0)                   // however often somebody looked
		is.Equal(b.State(sec).NextIn, time.Duration(333_333_334)) // and nothing is over
	}
}

func TestBucketReservesForThoseWhoWait(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 4)
	take(is, b, 0, 4, 0, gate.Granted, 0)
	take(is, b, 0, 2, 2*sec-1, gate.TooSoon, 2*sec) // a nanosecond too long
	take(is, b, 0, 2, 2*sec, gate.Granted, 2*sec)   // just as long
	take(is, b, 0, 1, 5*sec, gate.Granted, 3*sec)   // behind the first
	is.Equal(b.State(0).Available, int64(-3))       // what they wait for
	is.Equal(b.State(0).NextIn, 4*sec)              // the next one queues behind both
	take(is, b, sec, 1, 0, gate.TooSoon, 3*sec)     // nobody overtakes
	take(is, b, sec, 4, 5*sec, gate.TooSoon, 6*sec) // nobody waits for more than it wants
	take(is, b, 3*sec, 1, 0, gate.TooSoon, sec)     // all three seconds went to the two
	take(is, b, 4*sec, 1, -sec, gate.Granted, 0)    // a negative patience is none
	take(is, b, 4*sec, 1, -sec, gate.TooSoon, sec)  // and waits for nothing
	take(is, b, 4*sec, 4, time.Hour, gate.Granted, 4*sec)
}

func TestBucketNeverGrantsMoreThanItHolds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 10)
	take(is, b, 0, 11, time.Hour, gate.TooLarge, 0) // waiting does not help
	is.Equal(b.State(0).Available, int64(10))       // and nothing was taken
	take(is, b, 0, 10, 0, gate.Granted, 0)          // all it holds is not too much
	take(is, b, 0, 11, 0, gate.TooLarge, 0)         // for ever, not for now
}

func TestBucketGrantsWhatCostsNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(perMinute(60), 10)
	b.Settle(0, 0, 5)
	take(is, b, 0, 0, 0, gate.Granted, 0)
	is.Equal(b.State(0).Available, int64(-5)) // it took something
}

func TestBucketTakesBackWhatWasNotSent(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(perMinute(60), 10)
	take(is, b, 0, 3, time.Minute, gate.Granted, 3*sec)
	take(is, b, 0, 2, time.Minute, gate.Granted, 5*sec)
	b.Return(sec, 3)                                      // the first gives up after a second
	is.Equal(b.State(sec).Available, int64(-1))           // the second still waits for its two, of which one has flowed in
	take(is, b, sec, 1, time.Minute, gate.Granted, 2*sec) // a newcomer gets what came back
	b.Return(2500*ms, 9)
	is.Equal(b.State(2500*ms), gate.BucketState{ // half a token was there, and stays
		Available: 8, Burst: 10, Rate: perMinute(60),
	})
	take(is, b, 2500*ms, 9, 0, gate.TooSoon, 500*ms)
	b.Return(2500*ms, 2)
	is.Equal(b.State(2500*ms).Available, int64(10)) // full
	b.Take(2500*ms, 10, 0)
	take(is, b, 2500*ms, 1, 0, gate.TooSoon, sec) // the half did not fit in
	b.Return(2500*ms, 11)
	is.Equal(b.State(2500*ms).Available, int64(10)) // never above the burst
}

func TestBucketSettlesWhatWasUsed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 100)
	b.Take(0, 80, 0)
	b.Settle(0, 80, 80)
	is.Equal(b.State(0).Available, int64(20)) // as estimated
	b.Settle(0, 80, 50)
	is.Equal(b.State(0).Available, int64(50)) // less than that: the rest comes back
	b.Settle(0, 30, 130)
	is.Equal(b.State(0).Available, int64(-50)) // more: a debt
	is.Equal(b.State(0).NextIn, 51*sec)        // that is refilled first
	b.Settle(50*sec, 500, 100)
	is.Equal(b.State(50*sec).Available, int64(100)) // never above the burst
}

func TestBucketIsLoweredToWhatTheServerSays(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 100)
	b.Lower(0, 100)
	is.Equal(b.State(0).Available, int64(100)) // no news
	b.Lower(0, 30)
	is.Equal(b.State(0).Available, int64(30)) // less
	b.Lower(0, 60)
	is.Equal(b.State(0).Available, int64(30)) // it never adds
	b.Lower(500*ms, 30)
	is.Equal(b.State(500*ms).NextIn, time.Duration(0)) // 30 are there
	take(is, b, 500*ms, 31, 0, gate.TooSoon, sec)      // and not the half above them
	b.Lower(500*ms, 0)
	is.Equal(b.State(500*ms).NextIn, sec) // nothing is left, and it goes on from there
	b.Settle(500*ms, 0, 7)
	b.Lower(500*ms, 0)
	is.Equal(b.State(500*ms).Available, int64(-7)) // a debt is not forgiven
}

func TestBucketKeepsItsLevelWhenConfigured(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(perMinute(60), 10)
	b.Configure(2500*ms, perMinute(120), 20)
	is.Equal(b.State(2500*ms), gate.BucketState{Available: 2, Burst: 20, Rate: perMinute(120)}) // came in at the old rate
	take(is, b, 2500*ms, 3, 0, gate.TooSoon, 250*ms)                                            // half a token too, the other half comes at the new rate
	is.Equal(b.State(time.Hour).Available, int64(20))                                           // it fills up to the new burst
	take(is, b, time.Hour, 20, 0, gate.Granted, 0)
	b.Return(time.Hour, 20)
	b.Configure(time.Hour, perMinute(1), 5)
	is.Equal(b.State(time.Hour).Available, int64(5)) // what no longer fits in is lost
	take(is, b, time.Hour, 6, 0, gate.TooLarge, 0)   // and the new burst is in force
	b.Take(time.Hour, 5, 0)
	b.Settle(time.Hour, 0, 5)
	b.Configure(time.Hour, gate.Rate{Tokens: 5, Per: sec}, 5)
	is.Equal(b.State(time.Hour).Available, int64(-5)) // debts stay
	is.Equal(b.State(time.Hour+sec).Available, int64(0))
}

func TestBucketRoundsDownWhatANewRateCannotExpress(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(gate.Rate{Tokens: 1, Per: 3}, 10)
	b.State(2)
	b.Configure(2, gate.Rate{Tokens: 1, Per: 2}, 10)
	is.Equal(b.State(2).NextIn, time.Duration(1)) // of two thirds one half is left
	b.Configure(2, gate.Rate{Tokens: 1, Per: 1}, 10)
	is.Equal(b.State(2).NextIn, time.Duration(1)) // of a half nothing
	is.Equal(b.State(2).Available, int64(0))      // rather than one too many
}

func TestBucketStandsStillWhileTheClockGoesBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 10)
	take(is, b, 100*sec, 10, 0, gate.Granted, 0)
	for _, at := range []time.Duration{99 * sec, 0, -time.Hour, 100 * sec} {
		is.Equal(b.State(at).NextIn, sec) // time that has passed already brings nothing
	}
	take(is, b, 50*sec, 2, time.Minute, gate.Granted, 2*sec)
	is.Equal(b.State(102*sec).Available, int64(0)) // it goes on from the latest time

	early := gate.NewBucket(perMinute(60), 10)
	take(is, early, -time.Hour, 10, 0, gate.Granted, 0)
	is.Equal(early.State(0).Available, int64(0)) // nothing flows in before the base
}

func TestBucketPanicsOnNumbersThatMakeNoSense(t *testing.T) {
	t.Parallel()
	const trillion = 1_000_000_000_000
	const needs = "gate: a bucket needs 1 to 1000000000000 tokens per 1ns to 24h0m0s and a burst of as many, got "
	b := gate.NewBucket(perMinute(1), 1)
	for _, row := range []struct {
		rate    gate.Rate
		burst   int64
		message any
	}{
		{gate.Rate{Tokens: 1, Per: 1}, 1, nil},
		{gate.Rate{Tokens: trillion, Per: 24 * time.Hour}, trillion, nil},
		{gate.Rate{Tokens: 0, Per: sec}, 1, needs + "0 per 1s and 1"},
		{gate.Rate{Tokens: trillion + 1, Per: sec}, 1, needs + "1000000000001 per 1s and 1"},
		{gate.Rate{Tokens: 1, Per: 0}, 1, needs + "1 per 0s and 1"},
		{gate.Rate{Tokens: 1, Per: 24*time.Hour + 1}, 1, needs + "1 per 24h0m0.000000001s and 1"},
		{gate.Rate{Tokens: 1, Per: sec}, 0, needs + "1 per 1s and 0"},
		{gate.Rate{Tokens: 1, Per: sec}, trillion + 1, needs + "1 per 1s and 1000000000001"},
	} {
		is := is.New(t)
		is.Equal(recovered(func() { gate.NewBucket(row.rate, row.burst) }), row.message) // wrong numbers, or a message that does not tell
		is.Equal(recovered(func() { b.Configure(0, row.rate, row.burst) }), row.message) // the same when they change
	}
}

func TestBucketPanicsOnNegativeTokens(t *testing.T) {
	t.Parallel()
	b := gate.NewBucket(perMinute(60), 10)
	for name, f := range map[string]func(){
		"take":        func() { b.Take(0, -1, 0) },
		"return":      func() { b.Return(0, -1) },
		"settle":      func() { b.Settle(0, -1, 0) },
		"settle used": func() { b.Settle(0, 0, -1) },
		"lower":       func() { b.Lower(0, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(recovered(f), "gate: a number of tokens must not be negative, got -1") // it would be a gift
			is.Equal(b.State(0).Available, int64(10))                                       // or a fine
		})
	}
}

func TestBucketDoesNotAllocate(t *testing.T) {
	is := is.New(t)
	b := gate.NewBucket(perMinute(60), 1000)
	now := time.Duration(0)
	for name, f := range map[string]func(){
		"grant":     func() { b.Take(now, 1, 0) },
		"refusal":   func() { b.Take(now, 1000, 0) },
		"wait":      func() { b.Take(now, 1000, time.Hour) },
		"too large": func() { b.Take(now, 1001, 0) },
		"return":    func() { b.Return(now, 1) },
		"settle":    func() { b.Settle(now, 1, 2) },
		"lower":     func() { b.Lower(now, 500) },
		"configure": func() { b.Configure(now, perMinute(60), 1000) },
		"state":     func() { b.State(now) },
		"told wait": func() { b.Wait(now, 1000) },
	} {
		t.Log(name)
		is.Equal(testing.AllocsPerRun(100, func() { now += ms; f() }), 0.0) // it allocates
	}
}
