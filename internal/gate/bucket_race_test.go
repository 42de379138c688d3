package gate_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// Time moves on while everybody takes. Whoever looks at the sum of what was granted first and at the clock then must
// find no more than a burst and what has flowed in; and as the bucket is never full again, in the end not one token is
// missing either.
func TestBucketGrantsExactlyWhatFlowsInToManyAtOnce(t *testing.T) {
	t.Parallel()
	const burst, each = 100, 5000
	for _, rate := range []gate.Rate{{Tokens: 3, Per: 7}, {Tokens: 1_000_003, Per: sec}, perMinute(600)} {
		is := is.New(t)
		token := max(int64(rate.Per)/rate.Tokens, 1)
		b := drained(rate, burst)
		var clock, granted, refused atomic.Int64
		granted.Add(burst)
		flowed := func() int64 { return clock.Load() * rate.Tokens / int64(rate.Per) } // small enough for 64 bits
		together(func(r *rand.Rand) {
			for range each {
				now := clock.Add(r.Int64N(token)) // each brings half a token, and wants two and a half
				n := 1 + r.Int64N(4)
				if grant, _ := b.Take(time.Duration(now), n, 0); grant != gate.Granted {
					refused.Add(1)
					continue
				}
				if sum := granted.Add(n); sum > burst+flowed() {
					t.Error("more was granted than a burst and what has flowed in")
				}
			}
		})
		available := b.State(time.Duration(clock.Load())).Available
		is.Equal(available, burst+flowed()-granted.Load())         // tokens were lost or invented
		is.True(available >= 0 && available < burst)               // and it was neither in debt nor full
		is.True(granted.Load() > 2*burst && refused.Load() > each) // the goroutines never competed
	}
}

// At one moment, one after the other gets the next time at which a token has flowed in, and nobody the same.
func TestBucketReservesEveryTimeOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const burst, longest = 50, time.Minute
	rate := perMinute(7001)
	b := gate.NewBucket(rate, burst)
	var mu sync.Mutex
	var waits []time.Duration
	together(func(*rand.Rand) {
		var mine []time.Duration
		for range 1000 {
			if grant, wait := b.Take(0, 1, longest); grant == gate.Granted {
				mine = append(mine, wait)
			}
		}
		if !slices.IsSorted(mine) {
			t.Error("who came later was served earlier")
		}
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, mine...)
	})
	slices.Sort(waits)
	is.Equal(len(waits), burst+7001) // all that is there, and all that flows in within the longest wait
	for i, wait := range waits {
		k := time.Duration(max(0, i+1-burst))
		is.Equal(wait, (k*rate.Per+6999+1)/7001) // the k-th token's time, rounded up
	}
	is.Equal(b.State(0).Available, int64(-7001)) // what they wait for
}

// Callers take, give back and settle, all at once. What was not given back is gone, and nothing else.
func TestBucketKeepsItsBooksBalanced(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const burst = 1000
	b := gate.NewBucket(perMinute(60), burst)
	var spent, waited atomic.Int64
	together(func(r *rand.Rand) {
		for range 5000 {
			n := 1 + r.Int64N(300)
			grant, wait := b.Take(0, n, time.Minute)
			if grant != gate.Granted {
				continue
			}
			waited.Add(min(int64(wait), 1))
			b.Lower(0, burst) // no news
			runtime.Gosched() // let the others take meanwhile
			switch used := r.Int64N(2 * n); {
			case r.IntN(2) == 0:
				b.Return(0, n)
			case r.IntN(20) > 0:
				b.Settle(0, n, used)
				b.Return(0, used)
			default: // seldom, or the test would soon be over
				b.Settle(0, n, 1)
				spent.Add(1)
			}
			if most := burst - spent.Load(); b.State(0).Available > most {
				t.Error("tokens were invented on the way")
			}
		}
	})
	is.Equal(b.State(0).Available, burst-spent.Load()) // tokens were lost or invented
	is.True(waited.Load() > 0 && spent.Load() > 100)   // nobody ever waited, or it was over too soon
}

// Settings change while everybody takes: the bound is that of the larger ones.
func TestBucketIsConfiguredWhileItIsUsed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	small, large := gate.Rate{Tokens: 1, Per: 1000}, gate.Rate{Tokens: 10, Per: 3000}
	b := gate.NewBucket(large, 20)
	var clock, granted atomic.Int64
	together(func(r *rand.Rand) {
		for i := range 3000 {
			now := time.Duration(clock.Add(r.Int64N(100)))
			switch i % 50 {
			case 0:
				b.Configure(now, small, 10)
			case 25:
				b.Configure(now, large, 20)
			default:
				if grant, _ := b.Take(now, 1+r.Int64N(25), 0); grant == gate.Granted {
					granted.Add(1)
				}
			}
		}
	})
	now := clock.Load()
	is.True(granted.Load() > 0 && granted.Load() <= 20+now/300) // more than the larger settings allow
	b.Configure(time.Duration(now), small, 10)
	s := b.State(time.Duration(now))
	is.Equal(s.Rate, small)                             // the last settings are in force
	is.True(s.Available >= 0 && s.Available <= s.Burst) // nobody waited, and nothing beyond the burst is there
}
