package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
)

// BreakerConfig says when a [Breaker] opens and for how long. Equal values mean equal breakers.
type BreakerConfig struct {
	// FailureRatioPPM is the share of failures at which the breaker opens, in parts per million: 0 to 1000000. Zero
	// means at any failure once there are Minimum outcomes.
	FailureRatioPPM uint64

	// Minimum is the number of outcomes in the sampling duration below which the breaker does not open. Zero and one
	// both mean that the first outcome counts.
	Minimum uint64

	// Sampling is the span of time over which outcomes are counted: the last 0.9 to 1.0 of it. It must be above zero.
	Sampling time.Duration

	// Break is how long the breaker stays open, unless [Breaker.Hold] says otherwise. Zero means until the next attempt.
	Break time.Duration

	// ProbeTimeout is how long a probe may be pending before its place is given to the next caller. It must be above
	// zero.
	ProbeTimeout time.Duration
}

// Breaker is a circuit breaker: it refuses attempts to a dependency that fails too often, and lets one through after a
// break to see whether it works again. It is safe for concurrent use, and lazy: there is no timer, and nothing happens
// until somebody asks.
//
// Callers ask [Breaker.Admit] before every attempt and owe [Breaker.Settle] its outcome if it was admitted. Every
// admission carries a generation, which changes with the state and with each probe; the outcome of an attempt from an
// earlier one says nothing about the present state, and changes nothing.
type Breaker struct {
	// closed is the generation while the breaker is closed, and zero otherwise, so that admitting takes one load. It is
	// written under mu.
	closed atomic.Uint64

	mu         sync.Mutex
	config     BreakerConfig
	ratio      ratio
	outcomes   *ring.Buckets
	latest     time.Duration // the latest time seen: a clock that goes back stands still here
	state      BreakerState  // as of the last call; Open stays until a probe is admitted
	generation uint64        // of the state or the probe; from 1, so that no ticket is the zero value
	began      time.Duration // if open: the break; if half-open: the probe
	length     time.Duration // if open: of the break; if half-open: of the probe's timeout
	probing    bool          // if half-open: whether a probe is pending
	halfOpens  uint64        // since last closed
	changes    uint64        // of the state
}

// NewBreaker returns a closed breaker. It panics if a setting is out of range.
func NewBreaker(c BreakerConfig) *Breaker {
	ratio := mustBreak(c)
	b := &Breaker{config: c, ratio: ratio, outcomes: ring.NewBuckets(c.Sampling), generation: 1}
	b.closed.Store(b.generation)
	return b
}

// Configure replaces the settings from now on. It makes no transition: state, generation and a pending probe stay, a
// break that has begun keeps its length and a probe that was sent its timeout, and a ratio that is reached already opens
// the breaker at the next failure. The outcomes stay, as far as they are not older than a new sampling duration. It
// panics if a setting is out of range.
func (b *Breaker) Configure(now time.Duration, c BreakerConfig) {
	ratio := mustBreak(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes.Configure(b.clamp(now), c.Sampling)
	b.config, b.ratio = c, ratio
}

// mustBreak panics unless break, timeout and ratio are in their ranges. The sampling duration is left to the ring.
func mustBreak(c BreakerConfig) ratio {
	if c.Break < 0 || c.ProbeTimeout <= 0 {
		//nolint:forbidigo // validated where they have names
		panic("gate: a break must not be negative and a probe's timeout must be above zero, got " +
			c.Break.String() + " and " + c.ProbeTimeout.String())
	}
	return mustRatio(c.FailureRatioPPM)
}

// Admit decides whether an attempt may be sent. A refused attempt is not counted.
func (b *Breaker) Admit(now time.Duration) Admission {
	if generation := b.closed.Load(); generation != 0 {
		return Admission{Admitted: true, Ticket: Ticket{generation: generation}}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clamp(now)
	switch {
	case b.state == Closed: // since the load above
		return Admission{Admitted: true, Ticket: Ticket{generation: b.generation}}
	case b.probeDue(now):
		return b.probe(now)
	default:
		return Admission{RetryAfter: b.retryAfter(now), State: b.state}
	}
}

// Settle reports the outcome of an admitted attempt, and returns the change that it made. An outcome that comes too
// late, after the state has changed or the probe has lost its place, changes nothing.
func (b *Breaker) Settle(now time.Duration, t Ticket, o Outcome) (change Transition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clamp(now)
	switch {
	case t.generation != b.generation: // too late
	case t.probe:
		change = b.settleProbe(now, o)
	case b.count(now, o):
		change = b.enter(now, Open)
	}
	return change
}

// Hold replaces the length of the break that began with the given generation, for callers that compute it from what
// they saw. It counts from the moment that break began; zero or less, and the break is over. If it is over already, by
// the clock or by a later change, Hold does nothing.
//
// It stands in for a callback, which would have to run under the lock.
func (b *Breaker) Hold(now time.Duration, generation uint64, length time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clamp(now)
	if b.generation == generation && b.stateAt(now) == Open {
		b.length = length
	}
}

// Isolate refuses every attempt until [Breaker.Release].
func (b *Breaker) Isolate(now time.Duration) Transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == Isolated {
		return Transition{}
	}
	return b.enter(b.clamp(now), Isolated)
}

// Release closes an isolated breaker and forgets the outcomes counted before. Any other it leaves alone.
func (b *Breaker) Release(now time.Duration) Transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != Isolated {
		return Transition{}
	}
	return b.enter(b.clamp(now), Closed)
}

// State returns the state by the clock: an open breaker whose break is over is half-open, though nobody has asked yet.
func (b *Breaker) State(now time.Duration) BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateAt(b.clamp(now))
}

// Stats returns a snapshot.
func (b *Breaker) Stats(now time.Duration) BreakerStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	now = b.clamp(now)
	sum := b.outcomes.Sum(now)
	return BreakerStats{
		State:      b.stateAt(now),
		Requests:   sum.Total(),
		Failures:   sum.Failures,
		RetryAfter: b.retryAfter(now),
		Generation: b.generation,
	}
}
