package resilient

import (
	"slices"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// A Snapshot is what one state of a [Registry] holds at one moment.
type Snapshot struct {
	// Client is the name of the clients that share the state.
	Client string `json:"client"`

	// Authority is scheme://host:port of those that are called, or empty unless the clients keep their state
	// PerAuthority.
	Authority string `json:"authority,omitempty"`

	// Concurrency is nil if no client of the name has a concurrency limit.
	Concurrency *ConcurrencySnapshot `json:"concurrency,omitempty"`

	// Budget is nil if no client of the name has a retry budget. A budget that several states draw on is in all of them.
	Budget *BudgetSnapshot `json:"budget,omitempty"`

	// Breaker is nil if no client of the name has a circuit breaker.
	Breaker *BreakerSnapshot `json:"breaker,omitempty"`

	// RateLimit is nil if no client of the name has a rate limit.
	RateLimit *RateLimitSnapshot `json:"rateLimit,omitempty"`

	// Endpoints are those of all clients of the name, by their names.
	Endpoints []EndpointSnapshot `json:"endpoints,omitempty"`

	// RetriesDenied counts the retries that were not made, by the Reason of [RetryDenied]. It has an entry for every reason.
	RetriesDenied map[string]uint64 `json:"retriesDenied"`

	// Rejected counts the calls and attempts that were turned away, by the Gate of [Rejected]. It has an entry for every
	// gate.
	Rejected map[string]uint64 `json:"rejected"`
}

// A ConcurrencySnapshot is what a concurrency limit holds.
type ConcurrencySnapshot struct {
	// Permits is how many calls may run at once.
	Permits int `json:"permits"`

	// InUse is how many run.
	InUse int `json:"inUse"`

	// Queued is how many wait for a permit.
	Queued int `json:"queued"`
}

// A BudgetSnapshot is what a retry budget holds.
type BudgetSnapshot struct {
	// Phase is below_minimum, enforcing or exhausted: every retry is made, there is allowance left, or none.
	Phase string `json:"phase"`

	// Requests is the number of calls in the window.
	Requests uint64 `json:"requests"`

	// Retries is the number of retries in the window.
	Retries uint64 `json:"retries"`

	// Allowance is how many retries the window may hold. It is 0 in the phase below_minimum, in which it is not in force.
	Allowance uint64 `json:"allowance"`
}

// A RateLimitSnapshot is what a rate limit holds.
type RateLimitSnapshot struct {
	// Available is how many tokens there are. Below zero it is what is owed, or what others wait for already.
	Available int64 `json:"available"`

	// Burst is how many there are at most.
	Burst int64 `json:"burst"`
}

// An EndpointSnapshot is what is held for one endpoint.
type EndpointSnapshot struct {
	// Endpoint is its name.
	Endpoint string `json:"endpoint"`

	// Throttled is how long it has still asked to be left alone; 0 if it has not.
	Throttled time.Duration `json:"throttledNs"`

	// RateLimit is nil if no client of the name has a rate limit.
	RateLimit *RateLimitSnapshot `json:"rateLimit,omitempty"`

	// Breaker is nil if no client of the name has a circuit breaker.
	Breaker *BreakerSnapshot `json:"breaker,omitempty"`
}

// A BreakerSnapshot is what a circuit breaker holds.
type BreakerSnapshot struct {
	// State is closed, open, half-open or isolated.
	State string `json:"state"`

	// Requests is the number of attempts in the window.
	Requests uint64 `json:"requests"`

	// Failures is how many of them failed.
	Failures uint64 `json:"failures"`

	// RetryAfter is how long the circuit will stay open at least. It is 0 if it isn't, or if nobody knows.
	RetryAfter time.Duration `json:"retryAfterNs"`
}

// Snapshot returns what is held for every client name and authority, sorted by both. Counters begin with the state: the one
// of an authority that was not called for long is removed when room is needed, and its counters with it.
func (r *Registry) Snapshot() []Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Snapshot{} // not nil, which JSON has another form for
	for name, s := range r.clients {
		all = s.snapshot(name, all)
	}
	slices.SortFunc(all, func(a, b Snapshot) int {
		if c := strings.Compare(a.Client, b.Client); c != 0 {
			return c
		}
		return strings.Compare(a.Authority, b.Authority)
	})
	return all
}

func (s *shared) snapshot(name string, all []Snapshot) []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each(func(state *pipeline.State) {
		all = append(all, s.snapshotOf(name, state))
	})
	return all
}

// snapshotOf wants mu held.
func (s *shared) snapshotOf(name string, state *pipeline.State) Snapshot {
	return Snapshot{
		Client:        name,
		Authority:     state.Authority,
		Concurrency:   s.snapshotLimit(state),
		Budget:        snapshotBudget(state),
		Breaker:       s.snapshotBreaker(&state.Lane),
		RateLimit:     s.snapshotRate(&state.Lane),
		Endpoints:     s.snapshotEndpoints(),
		RetriesDenied: denied(state),
		Rejected:      rejected(state),
	}
}

func (s *shared) snapshotLimit(state *pipeline.State) *ConcurrencySnapshot {
	if state.Limit == nil {
		return nil
	}
	inUse, queued := state.Limit.Stats()
	return &ConcurrencySnapshot{Permits: s.kit.concurrency.Permits, InUse: inUse, Queued: queued}
}

func snapshotBudget(state *pipeline.State) *BudgetSnapshot {
	if state.Budget == nil {
		return nil
	}
	b := state.Budget.State(state.Now())
	if b.Phase == gate.BelowMinimum {
		b.Allowance = 0 // not in force, rather than a number without end
	}
	return &BudgetSnapshot{Phase: b.Phase.String(), Requests: b.Requests, Retries: b.Retries, Allowance: b.Allowance}
}

func (s *shared) snapshotEndpoints() []EndpointSnapshot {
	var all []EndpointSnapshot
	for name, l := range s.lanes {
		all = append(all, EndpointSnapshot{
			Endpoint: name, Throttled: l.Throttle.Until(s.now()),
			RateLimit: s.snapshotRate(l), Breaker: s.snapshotBreaker(l),
		})
	}
	slices.SortFunc(all, func(a, b EndpointSnapshot) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

func (s *shared) snapshotRate(l *pipeline.Lane) *RateLimitSnapshot {
	if l.Rate == nil {
		return nil
	}
	r := l.Rate.State(s.now())
	return &RateLimitSnapshot{Available: r.Available, Burst: r.Burst}
}

func (s *shared) snapshotBreaker(l *pipeline.Lane) *BreakerSnapshot {
	if l.Breaker == nil {
		return nil
	}
	b := l.Breaker.Stats(s.now())
	return &BreakerSnapshot{
		State: b.State.String(), Requests: b.Requests, Failures: b.Failures, RetryAfter: b.RetryAfter,
	}
}

func denied(state *pipeline.State) map[string]uint64 {
	counts := make(map[string]uint64, pipeline.Reasons)
	for i := range pipeline.Reasons {
		reason := pipeline.Reason(i)
		counts[reason.String()] = state.Denied(reason)
	}
	return counts
}

func rejected(state *pipeline.State) map[string]uint64 {
	counts := map[string]uint64{}
	for i := range pipeline.Gates {
		g := pipeline.Gate(i)
		if g == pipeline.GateThrottle {
			continue // it passes an endpoint over, and rejects nothing
		}
		counts[g.String()] = state.Rejected(g)
	}
	return counts
}
