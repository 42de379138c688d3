package resilient

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/jonboulle/clockwork"
)

// A Registry holds the state that clients of one name share: concurrency limit, retry budget, rate limit and circuit
// breaker. It can show that state ([Registry.Snapshot]), and hold breakers open by hand ([Registry.Isolate]).
//
// Clients have one name because they call one dependency, wherever in the program they are built. So the settings of a
// strategy that two of them have on must be the same, and so must their clocks, or [Builder.Build] fails. One may have a
// strategy off that the other has on. A probe of the breaker may take as long as an attempt of the first client that has one.
//
// The zero Registry is empty and ready for use. It is safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	real    clockwork.Clock // of the clients that were given none
	clients map[string]*shared
	budgets map[string]*namedBudget
	applied map[string]passage // by client name

	viewers   viewers
	recording bool // the states keep a history
}

//nolint:gochecknoglobals // the one thing that a process shares
var defaultRegistry = NewRegistry()

// NewRegistry returns an empty registry. A test wants one of its own, so that it shares nothing with other tests.
func NewRegistry() *Registry { return &Registry{} }

// DefaultRegistry returns the registry of the process, which a client belongs to unless [Builder.Registry] says otherwise.
func DefaultRegistry() *Registry { return defaultRegistry }

// clock is that of the clients that were given none.
func (r *Registry) clock() clockwork.Clock {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.real == nil {
		r.real = clockwork.NewRealClock()
	}
	return r.real
}

// A namedBudget is drawn on by all clients that give its name.
type namedBudget struct {
	terms
	policy BudgetPolicy
	*timeline
	budget *gate.Budget
}

// join returns where a client finds its state, which it shares with those of its name that joined before. If it doesn't
// agree with them it notes why, and nothing has changed. It wants mu held.
func (r *Registry) join(d *draft) (*shared, error) {
	if r.clients == nil {
		r.real = clockwork.NewRealClock()
		r.clients, r.budgets = map[string]*shared{}, map[string]*namedBudget{}
	}
	if d.clock == nil {
		d.clock = r.real
	}
	b := r.budgets[budgetName(d)]
	s, known := r.clients[d.name]
	if known {
		s.agree(d)
	} else {
		s = newShared(d, timelineFor(d, b))
		s.recording = r.recording
	}
	if b != nil {
		b.agree(d, s)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	r.clients[d.name] = s
	if name := budgetName(d); b == nil && name != "" {
		b = &namedBudget{terms{d.name, d.preset, d.Budget.settings()}, d.Budget, s.timeline, gate.NewBudget(d.Budget.config())}
		r.budgets[name] = b
	}
	s.add(d, b)
	return s, nil
}

// timelineFor returns the time of a new name: it begins now, unless the budget is there already, which can only be told
// one time.
func timelineFor(d *draft, b *namedBudget) *timeline {
	if b != nil && sameClock(b.clock, d.clock) {
		return b.timeline
	}
	return &timeline{clock: d.clock, epoch: d.clock.Now()}
}

// budgetName is the name under which the registry keeps the budget, or "" if it doesn't: each authority then has one of
// its own, or the client has none.
func budgetName(d *draft) string {
	switch {
	case d.Budget.off():
		return ""
	case d.Budget.Name == "" && !d.PerAuthority:
		return d.name
	default:
		return d.Budget.Name
	}
}

// agree notes where d asks for another budget than the one of this name is.
func (b *namedBudget) agree(d *draft, s *shared) {
	if s.kit.terms.budget.settings == nil { // else the clients of this name have seen to it
		b.terms.agree(d, "Budget", d.Budget.settings())
	}
	if b.timeline != s.timeline {
		d.fault(ConfigError{
			Setting: "Budget(BudgetName(" + quote(budgetName(d)) + "))",
			Rule:    "is measured on another clock, which client " + quote(b.by) + " began",
			Fix:     "give both clients one Clock, and the first client of a name the budget",
		})
	}
}

// Isolate holds the circuit breakers of a client name open, for every authority, until [Registry.Release]: every attempt is
// refused with [ErrCircuitOpen]. It holds for breakers that are made later, too. It returns an error if no client of that
// name was built, or if none has a breaker.
func (r *Registry) Isolate(name string) error {
	return r.byHand("Isolate", name, true)
}

// Release lets the circuit breakers of a client name go that [Registry.Isolate] holds open. They are closed then, and have
// forgotten what was counted before. It returns an error if no client of that name was built, or if none has a breaker.
func (r *Registry) Release(name string) error {
	return r.byHand("Release", name, false)
}

// byHand isolates or releases, and tells the observers of the name's clients.
func (r *Registry) byHand(method, name string, isolated bool) error {
	s, observers, err := r.withBreaker(method, name)
	if err != nil {
		return err
	}
	s.isolate(isolated, func(e pipeline.Event) {
		public := publicEvent(Source{Client: name, Authority: e.Authority}, e)
		for _, o := range observers {
			o(context.Background(), public)
		}
	})
	return nil
}

// withBreaker returns the state of a name, and who observes its clients.
func (r *Registry) withBreaker(method, name string) (*shared, []Observer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.clients[name]
	if s == nil {
		return nil, nil, &ConfigError{
			Client: name, Setting: method, Rule: "no client of this name was built", Fix: r.names(),
		}
	}
	if s.kit.terms.breaker.settings == nil {
		return nil, nil, &ConfigError{Client: name, Setting: method, Rule: "it has no circuit breaker", Fix: "build it with Breaker"}
	}
	var observers []Observer
	for _, c := range s.clients {
		if t := c.transport.Value(); t != nil {
			observers = append(observers, t.live.Load().observers...)
		}
	}
	return s, observers, nil
}

// names lists some of the names there are, for who has mistyped one.
func (r *Registry) names() string {
	const enough = 10
	names := slices.Sorted(maps.Keys(r.clients))
	if len(names) == 0 {
		return "the registry is empty"
	}
	more := ""
	if extra := len(names) - enough; extra > 0 {
		names, more = names[:enough], " and "+strconv.Itoa(extra)+" more"
	}
	return "there are " + quoteAll(names) + more
}
