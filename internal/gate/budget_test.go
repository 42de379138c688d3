package gate_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// conservative is the budget of the preset of that name, plain enough for most rows: buckets of one second.
func conservative() gate.BudgetConfig {
	return gate.BudgetConfig{RatioPPM: 100_000, Window: 30 * sec, Minimum: 100}
}

// request counts n requests.
func request(b *gate.Budget, now time.Duration, n int) {
	for range n {
		b.Request(now)
	}
}

// retries asks for up to n retries and returns how many were admitted before the first refusal.
func retries(b *gate.Budget, now time.Duration, n int) (admitted int) {
	for admitted < n && b.Retry(now) {
		admitted++
	}
	return admitted
}

func TestBudgetAdmitsTheShareOfItsRequests(t *testing.T) {
	t.Parallel()
	const all = 1000 // more than any allowance here: nothing was refused
	for _, row := range []struct {
		name           string
		ppm            uint64
		minimum, floor uint64
		requests       int
		want           int
	}{
		{"one below the minimum: free", 100_000, 100, 0, 99, all},
		{"at the minimum: in force", 100_000, 100, 0, 100, 10},
		{"above", 100_000, 100, 0, 109, 10},
		{"further above", 100_000, 100, 0, 110, 11},
		{"minimum one, too few for one retry", 50_000, 1, 0, 19, 0},
		{"minimum one, enough for one", 50_000, 1, 0, 20, 1},
		{"minimum one, no request: free", 50_000, 1, 0, 0, all},
		{"no minimum, no request", 50_000, 0, 0, 0, 0},
		{"ratio zero", 0, 1, 0, 500, 0},
		{"ratio zero below the minimum", 0, 501, 0, 500, all},
		{"29 % of 100", 290_000, 1, 0, 100, 29},
		{"57 % of 100", 570_000, 1, 0, 100, 57},
		{"ratio one", million, 1, 0, 1, 1},
		{"ratio one, many", million, 100, 0, 321, 321},
		{"a millionth", 1, 1, 0, 999, 0},
		{"low volume, no request", 100_000, 100, 1, 0, 1},
		{"low volume replaces the minimum", 100_000, 100, 1, 50, 5},
		{"low volume is a floor, not an addition", 100_000, 100, 10, 100, 10},
		{"low volume, more requests", 100_000, 100, 10, 120, 12},
		{"low volume, ratio zero", 0, 100, 3, 500, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := gate.NewBudget(gate.BudgetConfig{
				RatioPPM: row.ppm, Window: 30 * sec, Minimum: row.minimum, LowVolume: row.floor,
			})
			request(b, sec, row.requests)
			is.Equal(retries(b, sec, all), row.want) // the rule gives another number
		})
	}
}

const million = 1_000_000

func TestBudgetAdmitsOneRetryPerMillion(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(gate.BudgetConfig{RatioPPM: 1, Window: 30 * sec, Minimum: 1})
	request(b, 0, million-1)
	is.True(!b.Retry(0)) // a millionth of less than a million is no retry
	b.Request(0)
	is.Equal(retries(b, 0, 5), 1) // a millionth of a million is one
}

func TestBudgetShowsItsStateAsItMovesThroughThePhases(t *testing.T) {
	t.Parallel()
	b := gate.NewBudget(conservative())
	for _, step := range []struct {
		at               time.Duration
		request, retry   int
		requests, booked uint64
		allowance        uint64
		phase            gate.BudgetPhase
		name             string
	}{
		{0, 0, 0, 0, 0, gate.Unlimited, gate.BelowMinimum, "below_minimum"},
		{0, 90, 8, 90, 8, gate.Unlimited, gate.BelowMinimum, "below_minimum"},
		{1 * sec, 10, 0, 100, 8, 10, gate.Enforcing, "enforcing"},
		{2 * sec, 0, 9, 100, 10, 10, gate.Exhausted, "exhausted"}, // nine were asked for and two were left
		{3 * sec, 10, 0, 110, 10, 11, gate.Enforcing, "enforcing"},
		{31 * sec, 80, 0, 100, 2, 10, gate.Enforcing, "enforcing"},
		{32 * sec, 0, 0, 90, 2, gate.Unlimited, gate.BelowMinimum, "below_minimum"},
		{33 * sec, 0, 0, 90, 0, gate.Unlimited, gate.BelowMinimum, "below_minimum"},
		{90 * sec, 0, 0, 0, 0, gate.Unlimited, gate.BelowMinimum, "below_minimum"},
	} {
		is := is.New(t)
		request(b, step.at, step.request)
		retries(b, step.at, step.retry)
		state := b.State(step.at)
		is.Equal(state, gate.BudgetState{ // the state is not what the requests and retries so far amount to
			Requests: step.requests, Retries: step.booked, Allowance: step.allowance, Phase: step.phase,
		})
		is.Equal(state.Phase.String(), step.name) // metrics carry this word
	}
}

func TestBudgetWithLowVolumeIsAlwaysInForce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := conservative()
	c.LowVolume = 2
	b := gate.NewBudget(c)
	is.Equal(b.State(0), gate.BudgetState{Allowance: 2, Phase: gate.Enforcing})             // the floor is an allowance of its own
	is.Equal(retries(b, 0, 9), 2)                                                           // which is used up without a request
	is.Equal(b.State(0), gate.BudgetState{Retries: 2, Allowance: 2, Phase: gate.Exhausted}) // and then exhausted
}

func TestBudgetRefusalChangesNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	request(b, 0, 100)
	retries(b, 0, 10)
	before := b.State(0)
	is.Equal(retries(b, 0, 1), 0)   // the allowance is used up
	is.Equal(retries(b, sec, 1), 0) // and stays so
	is.Equal(b.State(sec), before)  // refusals are on nobody's books
}

func TestBudgetChargesWhatIsBeyondTheAllowance(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	request(b, 0, 100)
	is.Equal(retries(b, 0, 20), 10) // the allowance
	b.Charge(0)
	is.Equal(b.State(0).Retries, uint64(11)) // is booked though it is used up
	request(b, 0, 10)
	is.True(!b.Retry(0)) // and comes out of what is earned later
	request(b, 0, 10)
	is.True(b.Retry(0))
}

func TestBudgetCountsRetriesOfTwoUsersTogether(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	one, other := b, b // two clients of one name, or retries and hedges of one client
	request(one, 0, 70)
	request(other, 0, 50)
	is.Equal(retries(one, 0, 7), 7)          // twelve for both: seven for one
	is.Equal(retries(other, 0, 99), 5)       // five are left for the other
	is.Equal(b.State(0).Retries, uint64(12)) // and all are on the same books
}

// The debt: retries that were free below the minimum are on the books when it is crossed. It is paid off when they
// leave the window, one bucket after the span at the latest.
func TestBudgetDebtOfFreeRetriesEndsWithTheWindow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	for range 99 {
		b.Request(0)
		is.True(b.Retry(0)) // free below the minimum
	}
	for at := 100 * ms; at < 31*sec; at += 100 * ms {
		b.Request(at)
		is.True(!b.Retry(at)) // 99 free retries are on the books, and the allowance is below that
	}
	is.Equal(b.State(31*sec-1).Phase, gate.Exhausted) // to the last moment
	is.True(b.Retry(31 * sec))                        // span and one bucket later the debt is gone
}

func TestBudgetStartsAfreshAfterIdleTime(t *testing.T) {
	t.Parallel()
	for _, idle := range []time.Duration{31 * sec, time.Hour, 72 * time.Hour, 1 << 40, math.MaxInt64 - sec} {
		is := is.New(t)
		b := gate.NewBudget(conservative())
		request(b, 0, 5000)
		is.Equal(retries(b, 0, 9999), 500)               // the window is full
		is.Equal(b.State(idle).Requests, uint64(0))      // no credit is left from before
		is.Equal(b.State(idle).Phase, gate.BelowMinimum) // as at the start
		is.Equal(retries(b, idle, 20), 20)               // free below the minimum, as at the start
		request(b, idle, 100)
		is.Equal(retries(b, idle, 1), 0)                                       // and a burst is in force at once
		is.Equal(b.State(idle), gate.BudgetState{100, 20, 10, gate.Exhausted}) // with what was booked since, and only that
	}
}

func TestBudgetFreezesWhileTheClockIsBehind(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	request(b, 100*sec, 100)
	is.Equal(retries(b, 100*sec, 5), 5) // half of the allowance
	for _, back := range []time.Duration{99 * sec, 0, -sec, math.MinInt64} {
		is.Equal(b.State(back), gate.BudgetState{100, 5, 10, gate.Enforcing}) // nothing leaves and nothing comes back
	}
	is.Equal(retries(b, -sec, 99), 5)                   // the rest of the same allowance
	is.Equal(b.State(130*sec).Phase, gate.Exhausted)    // which ages from the latest time
	is.Equal(b.State(131*sec).Phase, gate.BelowMinimum) // and leaves with it
}

// With LowVolume the allowance never falls as requests come in.
func TestBudgetWithLowVolumeNeverTurnsAPermitIntoARefusalByMoreRequests(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		c := gate.BudgetConfig{
			RatioPPM: r.Uint64N(million + 1), Window: 30 * sec, Minimum: r.Uint64N(50), LowVolume: 1 + r.Uint64N(5),
		}
		few, more := gate.NewBudget(c), gate.NewBudget(c)
		for range r.IntN(100) {
			few.Request(0)
			more.Request(0)
			if r.IntN(2) == 0 && few.Retry(0) {
				is.New(t).True(more.Retry(0)) // the same history, the same answer
			}
		}
		request(more, 0, r.IntN(100))
		if few.Retry(0) {
			is.New(t).True(more.Retry(0)) // more requests took away a retry
		}
	}
}

// Without LowVolume it does fall, at the minimum: the rule says that below it retries are free and above it they are
// not. This is the documented exception, and the reason why LowVolume exists.
func TestBudgetWithoutLowVolumeRefusesAtTheMinimumWhatWasFreeBelow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	below, at := gate.NewBudget(conservative()), gate.NewBudget(conservative())
	for _, b := range []*gate.Budget{below, at} {
		request(b, 0, 99)
		is.Equal(retries(b, 0, 10), 10) // free
	}
	at.Request(0)
	is.True(below.Retry(0)) // 99 requests: the eleventh retry is free
	is.True(!at.Retry(0))   // 100 requests: ten is all there is
}

func TestBudgetIgnoresTheOrderWithinABucket(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	c := gate.BudgetConfig{RatioPPM: 100_000, Window: 30 * sec, Minimum: 1000} // all retries are free, so that all count
	for range 50 {
		order := make([]bool, 40) // whether the event is a retry
		for i := range order {
			order[i] = i%3 == 0
		}
		one, other := gate.NewBudget(c), gate.NewBudget(c)
		for _, b := range []*gate.Budget{one, other} {
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, retry := range order {
				at := 5*sec + time.Duration(r.Int64N(int64(sec)))
				if retry {
					b.Retry(at)
				} else {
					b.Request(at)
				}
			}
		}
		for at := 5 * sec; at < 40*sec; at += sec {
			is.New(t).Equal(one.State(at), other.State(at)) // the order within one bucket shows
		}
	}
}

func TestBudgetDoesNotAllocateWithinABucket(t *testing.T) {
	is := is.New(t)
	free, exhausted := gate.NewBudget(conservative()), gate.NewBudget(conservative())
	request(exhausted, 0, 100)
	retries(exhausted, 0, 10)
	ok := true
	is.Equal(testing.AllocsPerRun(100, func() { ok = ok && free.Retry(0) }), 0.0)       // a permit allocates
	is.True(ok)                                                                         // these were permits
	is.Equal(testing.AllocsPerRun(100, func() { ok = ok && !exhausted.Retry(0) }), 0.0) // a refusal allocates
	is.True(ok)                                                                         // these were refusals
	is.Equal(testing.AllocsPerRun(100, func() { free.Request(0) }), 0.0)                // a request allocates
	is.Equal(testing.AllocsPerRun(100, func() { free.State(0) }), 0.0)                  // the state allocates
}
