package gate

import (
	"strconv"
	"sync"
	"time"
)

// Bucket is a token bucket: what is sent costs tokens, a burst may take all that the bucket holds, and from then on no
// more goes through than flows in. It refills continuously, not in steps, and starts full. It is safe for concurrent
// use, and lazy: there is no timer, and what flowed in since the last question is worked out with the next.
//
// Callers ask [Bucket.Take] before they send. What was not sent after all goes back with [Bucket.Return]; what turned
// out to cost more or less than was taken is put right with [Bucket.Settle].
//
// # Why no token is lost or spent twice
//
// The level and the time it was worked out for change together, under one lock, so the order in which callers get the
// lock is the order in which they took. Time never goes back under the lock, and the level is exact, not rounded: at any
// moment it is burst, plus all that has flowed in, less all that was taken, but for what would not have fitted in.
// Whoever takes more than there is waits until the level would be back at zero, hence at the moment when it sends,
// everything taken so far, its own and that of others, has flowed in.
//
// A lock, because level and time are more than one machine word and a snapshot behind a pointer would be an allocation
// for each taker. It is held for one multiplication and two divisions at most, and nothing is called that could block.
type Bucket struct {
	mu     sync.Mutex
	rate   Rate
	burst  int64
	level  level         // at latest
	latest time.Duration // the latest time seen: a clock that goes back stands still here
}

// NewBucket returns a full bucket that holds burst tokens, 1 to 1e12. It panics if a setting is out of range.
func NewBucket(r Rate, burst int64) *Bucket {
	mustFlow(r, burst)
	return &Bucket{rate: r, burst: burst, level: level{whole: burst}}
}

// Take takes n tokens, and the answer is [Granted]: at once if there are enough, else on the promise that the caller
// sends only after the returned wait, which is at most longest and counts from the return. The level then is below zero,
// and whoever comes later queues behind. A caller that does not wait to the end owes a [Bucket.Return].
//
// If it would have to wait for more than longest, the answer is [TooSoon] with that wait, and nothing is taken. Zero
// tokens are always granted, also below zero. It panics if n is negative.
func (b *Bucket) Take(now time.Duration, n int64, longest time.Duration) (Grant, time.Duration) {
	mustCount(n)
	if n == 0 {
		return Granted, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.burst {
		return TooLarge, 0
	}
	b.refill(now)
	wait := b.level.wait(n, b.rate)
	if wait > 0 && (wait > longest || wait == forever) {
		return TooSoon, wait
	}
	b.level = b.level.minus(n)
	return Granted, wait
}

// Return gives back n tokens that were taken for what was never sent. What does not fit in is lost. Nobody who waits
// already is called earlier: what comes back serves those who come next, and one that needs little may then send before
// one that has waited for longer. It panics if n is negative.
func (b *Bucket) Return(now time.Duration, n int64) {
	b.Settle(now, n, 0)
}

// Settle replaces what was taken by what was used. It takes the difference without asking, so that the level may fall
// below zero and stay there until the debt is refilled, or gives it back as [Bucket.Return] does. A debt ends at 1e18:
// what is used beyond is forgiven. It panics if either number is negative.
func (b *Bucket) Settle(now time.Duration, taken, used int64) {
	mustCount(taken)
	mustCount(used)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if taken >= used {
		b.level = b.level.plus(taken-used, b.burst)
	} else {
		b.level = b.level.minus(used - taken)
	}
}

// Lower takes away what is above remaining, because the server has said that there is no more. It never adds: a server
// knows nothing of what is on its way to it. What was taken before and comes back later comes on top. It panics if
// remaining is negative.
//
// The refill goes on. Some servers refill continuously too, and their reset is when they are full again; others begin
// anew every minute, and give nothing before. A caller that knows its server to be one of those and nothing to remain
// wants a [Throttle].
func (b *Bucket) Lower(now time.Duration, remaining int64) {
	mustCount(remaining)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	b.level = b.level.atMost(remaining)
}

// Configure replaces rate and burst from now on. The level stays, also when the burst grows, unless it no longer fits
// in; a part of a token is rounded down to what the new rate can express. Waits that were granted stay as they are. It
// panics if a setting is out of range.
func (b *Bucket) Configure(now time.Duration, r Rate, burst int64) {
	mustFlow(r, burst)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	b.level = b.level.convert(b.rate, r).atMost(burst)
	b.rate, b.burst = r, burst
}

// State returns a snapshot.
func (b *Bucket) State(now time.Duration) BucketState {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	return BucketState{
		Available: b.level.whole,
		Burst:     b.burst,
		Rate:      b.rate,
		NextIn:    b.level.wait(1, b.rate),
	}
}

// refill works out the level of now. It wants the lock held.
func (b *Bucket) refill(now time.Duration) {
	if now > b.latest { // else time stands still; latest is never negative, so neither is what is taken for now
		b.level = b.level.after(now-b.latest, b.rate, b.burst)
		b.latest = now
	}
}

// mustCount panics if n is no number of tokens. Taken, a negative one would be a gift.
func mustCount(n int64) {
	if n < 0 {
		//nolint:forbidigo // a bug of ours, not to be hidden
		panic("gate: a number of tokens must not be negative, got " + strconv.FormatInt(n, 10))
	}
}
