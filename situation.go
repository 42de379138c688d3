package resilient

import (
	"cmp"
	"slices"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/history"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// A situation is all that is known about one state: what it holds, what its calls did of late, and what its clients do
// about failures.
type situation struct {
	Snapshot
	habits
	budget  BudgetPolicy
	breaker BreakerPolicy
	queue   int

	at     time.Time // the moment on the clock of the state
	now    time.Duration
	log    *history.Log   // nil if no history is kept
	minute history.Counts // the last one, more or less
}

// aMinute is as many steps of the history.
const aMinute = int(time.Minute / history.Step)

// Habits are what the clients of a name that are in use do about failures.
type habits struct {
	clients  int
	retrying int           // of them
	retries  int           // the most that any makes for one call
	choosy   bool          // one has a RetryIf
	total    time.Duration // the longest total timeout; 0 if there is none
	patience time.Duration // the longest wait for tokens
}

func (h *habits) add(c *pipeline.Config) {
	h.clients++
	if c.Retry.Max > 0 {
		h.retrying++
	}
	h.retries = max(h.retries, c.Retry.Max)
	h.choosy = h.choosy || c.Retry.If != nil
	h.total = max(h.total, c.Total)
	h.patience = max(h.patience, c.Rate.Wait)
}

// situations returns that of every state, sorted by client and authority.
func (r *Registry) situations() []*situation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*situation
	for name, s := range r.clients {
		all = append(all, s.situations(name)...)
	}
	slices.SortFunc(all, func(a, b *situation) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Authority, b.Authority))
	})
	return all
}

// situations wants the registry's mu held.
func (s *shared) situations(name string) (all []*situation) {
	var h habits
	for _, c := range s.clients {
		if t := c.transport.Value(); t != nil {
			h.add(&t.live.Load().pipeline.Config)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.Now()
	s.each(func(state *pipeline.State) {
		x := &situation{
			Snapshot: s.snapshotOf(name, state), habits: h,
			budget: s.kit.budget, breaker: s.kit.breaker, queue: s.kit.concurrency.Queue,
			at: at, now: at.Sub(s.epoch), log: historyOf(state),
		}
		if x.log != nil {
			x.minute = x.log.Since(x.now, aMinute)
		}
		all = append(all, x)
	})
	return all
}

// lastOpened is when an endpoint's breaker, or the state's own for "", was opened last by what was counted, and not by a
// probe; zero if that is not known.
func (s *situation) lastOpened(endpoint string) history.Change {
	if s.log != nil {
		for _, c := range s.log.Changes() {
			if c.Endpoint == endpoint && c.To == gate.Open.String() && c.Requests > 0 {
				return c
			}
		}
	}
	return history.Change{}
}
