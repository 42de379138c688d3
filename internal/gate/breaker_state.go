package gate

import "time"

// BreakerState is what a [Breaker] does with the next attempt.
type BreakerState uint8

const (
	// Closed: every attempt is admitted and its outcome counted.
	Closed BreakerState = iota
	// Open: every attempt is refused until the break is over.
	Open
	// HalfOpen: the break is over, and one attempt, the probe, decides what comes next.
	HalfOpen
	// Isolated: every attempt is refused until the breaker is released by hand.
	Isolated
)

// String returns closed, open, half-open or isolated.
func (s BreakerState) String() string {
	return [...]string{Closed: "closed", Open: "open", HalfOpen: "half-open", Isolated: "isolated"}[s]
}

// Outcome is what an admitted attempt says about the dependency.
type Outcome uint8

const (
	// Ignored says nothing: the caller went away, a hedge lost, another gate refused. It is the zero value, so that an
	// attempt cut short by a panic settles as what it is.
	Ignored Outcome = iota
	// Success says that the dependency works.
	Success
	// Failure says that it does not.
	Failure
)

// Ticket proves that an attempt was admitted, and in which generation of the breaker. The zero value stands for an
// attempt that was not admitted; settling it changes nothing.
type Ticket struct {
	generation uint64
	probe      bool
}

// Probe reports whether the attempt is the one that a half-open breaker waits for.
func (t Ticket) Probe() bool { return t.probe }

// Admission is the answer of [Breaker.Admit].
type Admission struct {
	// Admitted tells whether the attempt may be sent. If so, [Breaker.Settle] wants Ticket and the outcome.
	Admitted bool

	// Ticket is the zero value if the attempt was refused.
	Ticket Ticket

	// RetryAfter is, for a refused attempt, how long it takes until the next one may be admitted: what is left of the
	// break, or, while a probe is pending, of one more break from the moment it was sent. Never negative. Zero if that
	// is over or if the breaker is isolated, for then nobody knows.
	RetryAfter time.Duration

	// State is the breaker's state after the decision.
	State BreakerState

	// Transition is the change that the decision made: to half-open, by the first probe after a break.
	Transition Transition
}

// Transition is one change of a breaker's state, for the caller to report. The zero value is no change.
type Transition struct {
	// From and To are the states before and after. Each transition of a breaker starts from the state that the one
	// before it went to.
	From, To BreakerState

	// Number is 1 for the breaker's first transition, 2 for the second, and so on: by it, who reports them from several
	// goroutines can bring them into order.
	Number uint64

	// Generation is the one that the change began. [Breaker.Hold] takes it.
	Generation uint64

	// Requests is how many outcomes the sampling duration held at that moment, the tripping failure included. Probes are
	// not among them.
	Requests uint64

	// Failures is how many of Requests failed.
	Failures uint64

	// HalfOpens is how often the breaker had turned half-open since it was last closed: 0 for the first break, 1 for the
	// one that follows when its probe fails, and so on.
	HalfOpens uint64

	// Break is how long the break lasts that the change began; zero unless To is Open.
	Break time.Duration
}

// Changed reports whether there was a change.
func (t Transition) Changed() bool { return t.From != t.To }

// BreakerStats is a snapshot of a [Breaker].
type BreakerStats struct {
	// State is what [Breaker.State] returns.
	State BreakerState

	// Requests is how many outcomes the sampling duration holds.
	Requests uint64

	// Failures is how many of Requests failed.
	Failures uint64

	// RetryAfter is what [Breaker.Admit] would tell a refused attempt, and zero if it would admit it.
	RetryAfter time.Duration

	// Generation rises with every change of state and with every probe.
	Generation uint64
}
