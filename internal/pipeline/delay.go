package pipeline

import (
	"errors"
	"math"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// trouble is what a call notes once something has gone wrong.
type trouble struct {
	delays backoff.BackOff // nil until a retry asks for one
	cause  string          // of the last answer; "" unless it was looked for
	hint   time.Duration   // what that asks for where it isn't usual; hinted: it does
	hinted bool
}

func (k *call) troubled() *trouble {
	if k.trouble == nil {
		k.trouble = &trouble{}
	}
	return k.trouble
}

// calm forgets what the attempt before has met.
func (k *call) calm() {
	if k.trouble != nil {
		k.cause, k.hint, k.hinted = "", 0, false
	}
}

// delay is how long to wait before the next attempt, and whether the server asked
// for it. The backoff moves on also when the server's word replaces it.
func (k *call) delay() (d time.Duration, asked bool) {
	if k.troubled().delays == nil {
		k.delays = k.Retry.Backoff()
	}
	d = k.delays.NextBackOff()
	if d != backoff.Stop {
		d = max(0, d)
	}
	if !k.Retry.RetryAfter {
		return d, false
	}
	after, ok := k.askedFor()
	if !ok || d == backoff.Stop {
		return d, false
	}
	return k.elsewhere(after), true
}

// tooLong reports whether the server asked for a longer wait than is accepted.
func (k *call) tooLong(asked time.Duration) bool {
	longest := k.Retry.Longest
	if left, ok := k.remaining(); ok && longest == 0 {
		longest = left
	}
	return asked > longest && longest != 0 || asked > unreasonable
}

// unreasonable is a wait that is refused whatever the settings say: no setting
// of time may be longer, and nobody is there any more.
const unreasonable = 24 * time.Hour

// askedBy is the delay that an error asks for: a function may say so.
func askedBy(err error) (time.Duration, bool) {
	var asked *backoff.RetryAfterError
	if errors.As(err, &asked) {
		return max(0, asked.Duration), true
	}
	return 0, false
}

// Decorrelated returns delays that grow twofold with the attempts and are
// spread so widely that callers who failed together don't come back together.
// Their sum after n retries is base/1.4 * 2^t * tanh(sqrt(4t)) with t drawn from
// [n-1, n): the second version of the decorrelated jitter that Polly made
// known. The random function returns numbers in [0, 1). A most of 0 is no cap.
func Decorrelated(base, most time.Duration, random func() float64) backoff.BackOff {
	return &decorrelated{base: float64(base), most: most, random: random}
}

type decorrelated struct {
	base   float64
	most   time.Duration
	random func() float64
	n      float64
	sum    float64 // of the delays so far, in units of base/1.4
}

// scale makes the median of the first delay about the base.
const scale = 1 / 1.4

func (d *decorrelated) NextBackOff() time.Duration {
	if d.base == 0 {
		return 0
	}
	t := d.n + d.random()
	d.n++
	next := math.Exp2(t) * math.Tanh(math.Sqrt(4*t))
	delay := (next - d.sum) * scale * d.base
	d.sum = next
	return capped(delay, d.most)
}

func (d *decorrelated) Reset() { d.n, d.sum = 0, 0 }

// capped turns nanoseconds into a duration within [0, most]; too many for a
// duration, infinitely many and NaN (the difference of two infinities) are the most.
func capped(ns float64, most time.Duration) time.Duration {
	if most == 0 {
		most = math.MaxInt64
	}
	if !(ns < float64(most)) { // not >=, for NaN must come here too
		return most
	}
	return time.Duration(max(0, ns))
}

// Exponential returns delays that double from the base up to most (0: no cap).
// With full jitter each is drawn evenly from 0 to that.
func Exponential(base, most time.Duration, full bool) backoff.BackOff {
	if base == 0 {
		return &backoff.ZeroBackOff{}
	}
	if most == 0 {
		most = unreasonable
	}
	b := &backoff.ExponentialBackOff{InitialInterval: base, Multiplier: 2, MaxInterval: most}
	if full { // a range of +-100 % around half of the delay
		b.InitialInterval, b.MaxInterval, b.RandomizationFactor = base/2, most/2, 1
	}
	return b
}
