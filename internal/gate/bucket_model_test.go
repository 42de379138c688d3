package gate_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
	"pgregory.net/rapid"
)

// bucketModel is a bucket as one would explain it: the level is a fraction, and fractions of any size are no trouble.
type bucketModel struct {
	rate   gate.Rate
	burst  int64
	level  *big.Rat
	latest time.Duration
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// floor rounds down: Euclid's division by something positive does.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func newBucketModel(r gate.Rate, burst int64) *bucketModel {
	return &bucketModel{rate: r, burst: burst, level: whole(burst)}
}

func (m *bucketModel) at(now time.Duration) {
	if now <= m.latest {
		return
	}
	flowed := new(big.Rat).Mul(whole(int64(now-m.latest)), big.NewRat(m.rate.Tokens, int64(m.rate.Per)))
	m.level = least(flowed.Add(flowed, m.level), whole(m.burst))
	m.latest = now
}

func (m *bucketModel) wait(n int64) time.Duration {
	after := new(big.Rat).Sub(m.level, whole(n))
	if after.Sign() >= 0 {
		return 0
	}
	if after.Cmp(whole(debt)) < 0 {
		return ever
	}
	wait := new(big.Rat).Mul(after.Neg(after), big.NewRat(int64(m.rate.Per), m.rate.Tokens))
	rounded := new(big.Int).Neg(floor(wait.Neg(wait))) // up
	if !rounded.IsInt64() {
		return ever
	}
	return time.Duration(rounded.Int64())
}

func (m *bucketModel) take(now time.Duration, n int64, longest time.Duration) (gate.Grant, time.Duration) {
	switch {
	case n == 0:
		return gate.Granted, 0
	case n > m.burst:
		return gate.TooLarge, 0
	}
	m.at(now)
	wait := m.wait(n)
	if wait > max(longest, 0) || wait == ever {
		return gate.TooSoon, wait
	}
	m.level = new(big.Rat).Sub(m.level, whole(n))
	return gate.Granted, wait
}

func (m *bucketModel) settle(now time.Duration, taken, used int64) {
	m.at(now)
	level := new(big.Rat).Add(m.level, whole(taken-used))
	if level.Cmp(whole(debt)) < 0 {
		level = whole(debt)
	}
	m.level = least(level, whole(m.burst))
}

func (m *bucketModel) lower(now time.Duration, remaining int64) {
	m.at(now)
	m.level = least(m.level, whole(remaining))
}

func (m *bucketModel) configure(now time.Duration, r gate.Rate, burst int64) {
	m.at(now)
	per := whole(int64(r.Per))
	parts := new(big.Rat).SetInt(floor(new(big.Rat).Mul(m.level, per)))
	m.level = least(parts.Quo(parts, per), whole(burst))
	m.rate, m.burst = r, burst
}

func (m *bucketModel) state(now time.Duration) gate.BucketState {
	m.at(now)
	return gate.BucketState{Available: floor(m.level).Int64(), Burst: m.burst, Rate: m.rate, NextIn: m.wait(1)}
}

// randomFlow is a rate and a burst, ordinary ones and those at the edges.
func randomFlow(choose func(int64) int64) (gate.Rate, int64) {
	tokens := []int64{1, 3, 60, 1 + choose(10), 1 + choose(1_000_000), trillion, trillion - choose(9)}
	pers := []time.Duration{1, 2 + time.Duration(choose(9)), sec, time.Minute, 1 + time.Duration(choose(int64(time.Hour))), day, day - 1}
	bursts := []int64{1, 1 + choose(10), 1000, 1 + choose(100_000), trillion - choose(2)}
	return gate.Rate{Tokens: tokens[choose(int64(len(tokens)))], Per: pers[choose(int64(len(pers)))]},
		bursts[choose(int64(len(bursts)))]
}

// bucketDuel plays one schedule to a bucket and to its model, and compares every answer and all that shows.
type bucketDuel struct {
	is     *is.I
	choose func(int64) int64 // from 0 to below its argument
	bucket *gate.Bucket
	model  *bucketModel
	now    time.Duration
}

func newBucketDuel(is *is.I, choose func(int64) int64) *bucketDuel {
	r, burst := randomFlow(choose)
	return &bucketDuel{is: is, choose: choose, bucket: gate.NewBucket(r, burst), model: newBucketModel(r, burst)}
}

func (d *bucketDuel) step() {
	d.now += d.pause()
	switch action := d.choose(100); {
	case action < 60:
		d.take()
	case action < 75:
		n := d.count()
		d.bucket.Return(d.now, n)
		d.model.settle(d.now, n, 0)
	case action < 90:
		taken, used := d.count(), d.count()
		d.bucket.Settle(d.now, taken, used)
		d.model.settle(d.now, taken, used)
	case action < 96:
		n := d.count()
		d.bucket.Lower(d.now, n)
		d.model.lower(d.now, n)
	case action < 98:
		r, burst := randomFlow(d.choose)
		d.bucket.Configure(d.now, r, burst)
		d.model.configure(d.now, r, burst)
	}
	d.is.Equal(d.bucket.State(d.now), d.model.state(d.now)) // the level differs
}

func (d *bucketDuel) take() {
	n := d.count()
	longest := []time.Duration{0, -1, time.Duration(d.choose(int64(time.Minute))), d.model.wait(max(n, 1)) - 1,
		d.model.wait(max(n, 1)), ever}[d.choose(6)]
	grant, wait := d.bucket.Take(d.now, n, longest)
	wantGrant, wantWait := d.model.take(d.now, n, longest)
	d.is.Equal(grant, wantGrant) // one grants what the other refuses
	d.is.Equal(wait, wantWait)   // the waits differ
}

// count is a number of tokens: mostly some of the burst, at times all of it, one more, or any number there is.
func (d *bucketDuel) count() int64 {
	switch c := d.choose(40); {
	case c == 0:
		return 0
	case c == 1:
		return d.model.burst
	case c == 2:
		return d.model.burst + 1
	case c == 3:
		return d.choose(math.MaxInt64)
	case c == 4:
		return max(floor(d.model.level).Int64(), 0)
	case c < 20:
		return 1 + d.choose(min(d.model.burst, 10))
	default:
		return 1 + d.choose(d.model.burst)
	}
}

// pause is mostly none or so much that some tokens flow in; at times it is very long, or back.
func (d *bucketDuel) pause() time.Duration {
	left := ever - max(d.now, 0)
	token := time.Duration(max(int64(d.model.rate.Per)/d.model.rate.Tokens, 1))
	switch c := d.choose(64); {
	case c < 20:
		return 0
	case c < 30:
		return min(1, left)
	case c < 45:
		return min(time.Duration(d.choose(int64(3*token)))+1, left)
	case c < 50:
		return min(d.model.wait(1), left)
	case c < 60:
		return min(time.Duration(d.choose(int64(2*d.model.rate.Per)))+1, left)
	case c < 61:
		return time.Duration(d.choose(int64(left/8) + 1))
	default:
		return -time.Duration(d.choose(int64(max(d.now, 0)/4) + 10))
	}
}

func TestBucketAgreesWithFractions(t *testing.T) {
	t.Parallel()
	const schedules, steps = 120, 300
	for seed := range uint64(schedules) {
		d := newBucketDuel(is.New(t), rand.New(rand.NewPCG(seed, 3)).Int64N)
		for range steps {
			d.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestBucketAgreesWithFractionsOnAnySchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newBucketDuel(is.New(t), func(n int64) int64 { return rapid.Int64Range(0, n-1).Draw(t, "choice") })
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			d.step()
		}
	})
}

// sending is what was granted: so many tokens, sent at that time.
type sending struct {
	at time.Duration
	n  int64
}

// The promise to the server: whatever interval is looked at, no more is sent in it than a burst and what flows in
// meanwhile, those who waited included. A wait ends with a whole nanosecond, so the interval may be longer by one.
func TestBucketBoundsWhatIsSentInEveryInterval(t *testing.T) {
	t.Parallel()
	tight, waited := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		rate := gate.Rate{Tokens: 1 + r.Int64N(20), Per: time.Duration(1 + r.Int64N(2000))}
		burst := 1 + r.Int64N(30)
		patience := time.Duration(r.Int64N(3) * int64(rate.Per))
		b := gate.NewBucket(rate, burst)
		var sent []sending
		var now time.Duration
		for range 200 {
			now += time.Duration(r.Int64N(int64(rate.Per)))
			n := 1 + r.Int64N(min(burst, 8))
			if grant, wait := b.Take(now, n, patience); grant == gate.Granted {
				sent = append(sent, sending{now + wait, n})
				waited += min(int(wait), 1)
			}
		}
		for i := range sent {
			var total int64
			for _, s := range sent[i:] { // in order: nobody is sent before one that came earlier
				total += s.n
				within := int64(s.at-sent[i].at) + 1
				bound := burst + within*rate.Tokens/int64(rate.Per)
				if within < 1 || total > bound {
					t.Fatalf("seed %d: somebody was overtaken, or too much was sent in one interval", seed)
				}
				if total == bound {
					tight++
				}
			}
		}
	}
	is.New(t).True(tight > 1000 && waited > 1000) // the bound is so loose, or waits are so rare, that the test says nothing
}
