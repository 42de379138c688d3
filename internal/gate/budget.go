package gate

import (
	"math"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
)

// Unlimited is the allowance of a budget that is not in force because there are too few requests.
const Unlimited uint64 = math.MaxUint64

// BudgetConfig says how many retries a [Budget] admits. Equal values mean equal budgets.
type BudgetConfig struct {
	// RatioPPM is how many retries there may be per million requests: 0 to 1000000. Zero admits none, beyond what
	// Minimum and LowVolume let through.
	RatioPPM uint64

	// Window is the span of time over which requests and retries are counted. It must be above zero.
	Window time.Duration

	// Minimum is the number of requests in the window from which on the ratio is in force; below it every retry is
	// admitted. One means from the first request on, zero always. Unused if LowVolume is set.
	Minimum uint64

	// LowVolume, if above zero, is the number of retries the window may hold however few requests there are. It
	// replaces Minimum, and closes the gap that Minimum leaves: below it a client has no budget at all.
	LowVolume uint64
}

// BudgetPhase tells what a [Budget] does at the moment.
type BudgetPhase uint8

const (
	// BelowMinimum: there are too few requests for the ratio to be in force, and every retry is admitted.
	BelowMinimum BudgetPhase = iota
	// Enforcing: the allowance is in force, and some of it is left.
	Enforcing
	// Exhausted: the allowance is in force and used up. The next retry is refused.
	Exhausted
)

// String returns below_minimum, enforcing or exhausted.
func (p BudgetPhase) String() string {
	return [...]string{BelowMinimum: "below_minimum", Enforcing: "enforcing", Exhausted: "exhausted"}[p]
}

// BudgetState is what a [Budget] holds at one moment.
type BudgetState struct {
	// Requests is the number of requests in the window.
	Requests uint64

	// Retries is the number of retries in the window, those admitted below the minimum included. It may be above
	// Allowance when requests have left the window, or when the minimum was crossed with free retries on the books.
	Retries uint64

	// Allowance is how many retries the window may hold at this number of requests: the next one is admitted if Retries
	// is below it. It is [Unlimited] when Phase is BelowMinimum.
	Allowance uint64

	// Phase tells whether the allowance is in force, and whether it is used up.
	Phase BudgetPhase
}

// Budget bounds retries to a share of the requests over a sliding window, so that a dependency in trouble gets at most
// that much on top of its load. It is safe for concurrent use, takes no lock, and never admits a retry too many,
// however many goroutines ask at once. Hedges are retries to it.
//
// Callers say [Budget.Request] once for every call whose first attempt is sent, and ask [Budget.Retry] before every
// further attempt, as the last of all questions: an admitted retry is booked and never given back.
type Budget struct {
	window *ring.Window // its terms are a *budgetTerms
}

// budgetTerms is what a budget decides by. Never changed once it is in force: the window holds settings and counts
// together, so that every decision is made on both as they were at one moment.
type budgetTerms struct {
	config BudgetConfig
	ratio  ratio
}

// NewBudget returns a budget with an empty window. It panics if a setting is out of range.
func NewBudget(c BudgetConfig) *Budget {
	b := &Budget{window: ring.NewWindow(c.Window)}
	b.Configure(0, c)
	return b
}

// Configure replaces the settings from the next decision on. The requests and retries in the window stay, as far as they
// are not older than a new span; what has left the old one does not come back. A retry that is asked for at the same time
// is decided by the old settings or by the new ones, exactly. It panics if a setting is out of range.
func (b *Budget) Configure(now time.Duration, c BudgetConfig) {
	b.window.Configure(now, c.Window, &budgetTerms{config: c, ratio: mustRatio(c.RatioPPM)})
}

// read returns what the window holds, the mark for booking a retry on it, and the terms in force.
func (b *Budget) read(now time.Duration) (ring.Counts, ring.Mark, *budgetTerms) {
	counts, mark, terms := b.window.ReadTerms(now)
	return counts, mark, terms.(*budgetTerms)
}

// Request counts a call whose first attempt is sent now.
func (b *Budget) Request(now time.Duration) {
	b.window.AddRequest(now)
}

// Retry reports whether one more attempt may be sent, and books it if so. A refusal changes nothing.
func (b *Budget) Retry(now time.Duration) bool {
	for {
		counts, mark, terms := b.read(now)
		if counts.Retries >= terms.allowance(counts.Requests) {
			return false
		}
		if b.window.AddRetry(mark) {
			return true
		}
	}
}

// Charge books a retry that nobody asked for, because it has been made already: what is sent again by others, such as
// net/http, comes out of what may be sent again from here on.
func (b *Budget) Charge(now time.Duration) {
	for {
		if _, mark := b.window.Read(now); b.window.AddRetry(mark) {
			return
		}
	}
}

// State returns what the budget holds now.
func (b *Budget) State(now time.Duration) BudgetState {
	counts, _, terms := b.read(now)
	s := BudgetState{
		Requests:  counts.Requests,
		Retries:   counts.Retries,
		Allowance: terms.allowance(counts.Requests),
		Phase:     Enforcing,
	}
	switch {
	case s.Allowance == Unlimited:
		s.Phase = BelowMinimum
	case s.Retries >= s.Allowance:
		s.Phase = Exhausted
	}
	return s
}

// allowance returns how many retries the window may hold with this many requests in it. As a function of the requests
// it falls at the minimum, from no limit to the ratio of it: that is what the rule says, and what LowVolume is for.
func (t *budgetTerms) allowance(requests uint64) uint64 {
	switch {
	case t.config.LowVolume > 0:
		return max(t.ratio.of(requests), t.config.LowVolume)
	case requests < t.config.Minimum:
		return Unlimited
	default:
		return t.ratio.of(requests)
	}
}
