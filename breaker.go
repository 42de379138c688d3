package resilient

import (
	"math"
	"strconv"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// BreakerPolicy refuses attempts to a dependency that fails too often, for a while: [ErrCircuitOpen]. After the break one
// attempt, the probe, decides whether the circuit closes. The zero policy is off.
//
// An attempt has failed if its outcome is [Attempt].Transient, or if the dependency could not be reached at all: a host
// that does not exist, a certificate that is not valid. One that the caller gave up, that the total timeout cut short, or
// that failed by the request's own fault counts neither way.
type BreakerPolicy struct {
	// FailureRatio is the share of failed attempts at which the circuit opens: 0 to 1, kept in parts per million. 0 opens
	// it at any failure once the minimum is reached.
	FailureRatio float64

	// MinimumThroughput is the number of attempts in the window below which the circuit stays closed: 2 or more.
	MinimumThroughput int

	// SamplingDuration is the window over which attempts are counted: 500ms or more, and at least twice the attempt
	// timeout, so that attempts that time out are still seen together.
	SamplingDuration time.Duration

	// BreakDuration is how long the circuit stays open: 500ms or more.
	BreakDuration time.Duration

	// BreakUntilRetryAfter makes a break last at least as long as the Retry-After of the response that caused it says, up
	// to 24h.
	BreakUntilRetryAfter bool

	// BreakDurationFunc, if it is not nil, gives the length of each break instead of BreakDuration, which then only bounds
	// how long a probe is waited for. It is free to return any length; a negative one counts as 0. It runs on the goroutine
	// of the call that opened the circuit, and is that call's client's: clients that share a breaker must all have one, or
	// none.
	BreakDurationFunc func(Break) time.Duration `json:"-"`
}

// A Break is what a [BreakerPolicy].BreakDurationFunc may depend on.
type Break struct {
	// FailureRatio is the share of failed attempts in the window, 0 to 1.
	FailureRatio float64

	// Failures is the number of failed attempts in the window.
	Failures int

	// Breaks is the number of consecutive breaks before this one: 0 if the circuit was closed, 1 if the probe after the
	// first break failed, and so on.
	Breaks int

	// Attempt is the one whose failure opened the circuit.
	Attempt Attempt
}

// A BreakerOption changes one setting of a [BreakerPolicy].
type BreakerOption interface{ breaker(*draft) }

type breakerFunc func(*draft)

func (f breakerFunc) breaker(d *draft) { f(d) }

// A WindowOption changes a setting that [BudgetPolicy] and [BreakerPolicy] both have, in the one that it is given to.
type WindowOption interface {
	BudgetOption
	BreakerOption
}

type windowOption struct {
	budgetFunc
	breakerFunc
}

// MinimumThroughput is how many the window must hold for a budget or a circuit breaker to be in force. It sets
// [BudgetPolicy].MinimumThroughput, 1 or more calls, or [BreakerPolicy].MinimumThroughput, 2 or more attempts.
func MinimumThroughput(n int) WindowOption {
	return windowOption{
		func(d *draft) { d.Budget.MinimumThroughput = n },
		func(d *draft) { d.Breaker.MinimumThroughput = n },
	}
}

// SamplingDuration is the length of the window that a budget or a circuit breaker counts over. It sets
// [BudgetPolicy].SamplingDuration, 1s to 24h, or [BreakerPolicy].SamplingDuration, 500ms or more.
func SamplingDuration(window time.Duration) WindowOption {
	return windowOption{
		func(d *draft) { d.Budget.SamplingDuration = window },
		func(d *draft) {
			d.Breaker.SamplingDuration = window
			d.given |= gaveSampling
		},
	}
}

// FailureRatio is the share of failed attempts at which the circuit opens: 0 to 1. It sets
// [BreakerPolicy].FailureRatio.
func FailureRatio(ratio float64) BreakerOption {
	return breakerFunc(func(d *draft) { d.Breaker.FailureRatio = ratio })
}

// BreakDuration is how long the circuit stays open: 500ms or more. It sets [BreakerPolicy].BreakDuration.
func BreakDuration(length time.Duration) BreakerOption {
	return breakerFunc(func(d *draft) { d.Breaker.BreakDuration = length })
}

// BreakDurationFunc gives the length of each break, by what led to it. It sets [BreakerPolicy].BreakDurationFunc, and
// must not be nil.
func BreakDurationFunc(f func(Break) time.Duration) BreakerOption {
	return breakerFunc(func(d *draft) {
		if f == nil {
			d.refuseNil("Breaker(BreakDurationFunc(%s))")
		}
		d.Breaker.BreakDurationFunc = f
	})
}

// BreakUntilRetryAfter says whether a break lasts at least as long as the Retry-After of the response that caused it.
// It sets [BreakerPolicy].BreakUntilRetryAfter.
func BreakUntilRetryAfter(until bool) BreakerOption {
	return breakerFunc(func(d *draft) { d.Breaker.BreakUntilRetryAfter = until })
}

func (off) breaker(d *draft) {
	d.Breaker = BreakerPolicy{}
	d.given &^= usesBreaker | gaveSampling
}

// off reports whether nothing is set. If something is, check sees to it that everything is that must be.
func (p BreakerPolicy) off() bool {
	return p.FailureRatio == 0 && p.MinimumThroughput == 0 && p.SamplingDuration == 0 && p.BreakDuration == 0 &&
		!p.BreakUntilRetryAfter && p.BreakDurationFunc == nil
}

func (d *draft) startBreaker() {
	d.given |= usesBreaker
	if d.Breaker.off() {
		d.Breaker = Standard.Config().Breaker
	}
}

func (d *draft) applyBreaker(opts []BreakerOption) {
	d.startBreaker()
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Breaker(%s)")
			continue
		}
		o.breaker(d)
	}
}

const (
	minBreakerThroughput = 2
	minBreakerSampling   = 500 * time.Millisecond
	minBreak             = 500 * time.Millisecond
)

// samplingClashes reports whether attempts may time out too late for the window that they are counted in. The rule is
// that of .NET's resilience handler.
func (d *draft) samplingClashes() bool {
	sampling, attempt := d.Breaker.SamplingDuration, d.Timeout.PerAttempt
	return sampling >= minBreakerSampling && isTimeout(attempt) && sampling < 2*attempt
}

func (d *draft) fitSampling() {
	switch {
	case !d.samplingClashes():
	case !d.given.has(gaveSampling):
		d.Breaker.SamplingDuration = 2 * d.Timeout.PerAttempt
	case !d.given.has(gaveAttempt):
		d.Timeout.PerAttempt = d.Breaker.SamplingDuration / 2
	}
}

func (d *draft) checkBreaker() {
	p := d.Breaker
	if p.off() && !d.given.has(usesBreaker) {
		return
	}
	d.checkRatio("Breaker(FailureRatio(%s))", p.FailureRatio)
	d.checkCount("Breaker(MinimumThroughput(%s))", p.MinimumThroughput, minBreakerThroughput, math.MaxInt)
	d.checkDuration("Breaker(SamplingDuration(%s))", p.SamplingDuration, minBreakerSampling, math.MaxInt64, "")
	d.checkDuration("Breaker(BreakDuration(%s))", p.BreakDuration, minBreak, math.MaxInt64, "")
	if d.samplingClashes() {
		attempt := d.Timeout.PerAttempt
		d.refuse("Breaker(SamplingDuration(%s))", short(p.SamplingDuration),
			"must be at least twice Timeout(PerAttempt("+short(attempt)+"))",
			"sample for "+short(2*attempt)+" or more, or shorten the attempt")
	}
}

// settings is what clients that share a breaker must agree on. Functions can't be compared, but whether there is one.
func (p BreakerPolicy) settings() []term {
	function := "none"
	if p.BreakDurationFunc != nil {
		function = "f"
	}
	return []term{
		{"FailureRatio", decimal(p.FailureRatio)},
		{"MinimumThroughput", strconv.Itoa(p.MinimumThroughput)},
		{"SamplingDuration", short(p.SamplingDuration)},
		{"BreakDuration", short(p.BreakDuration)},
		{"BreakUntilRetryAfter", strconv.FormatBool(p.BreakUntilRetryAfter)},
		{"BreakDurationFunc", function},
	}
}

// config is the policy as the gate takes it, for attempts with the given timeout, which is how long a probe may take in
// any case.
func (p BreakerPolicy) config(attempt time.Duration) gate.BreakerConfig {
	return gate.BreakerConfig{
		FailureRatioPPM: ppm(p.FailureRatio),
		Minimum:         uint64(p.MinimumThroughput),
		Sampling:        p.SamplingDuration,
		Break:           p.BreakDuration,
		ProbeTimeout:    max(p.BreakDuration, attempt),
	}
}
