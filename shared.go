package resilient

import (
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/jonboulle/clockwork"
)

// shared is what the clients of one name share: their states, and what they agreed on for them. It is the pool that they
// take their states from.
//
// # Why a client reads the gates of a state without a lock
//
// A gate is written once, under mu: when its state is made, or when the first client that has the strategy on joins. A
// client reads a gate only if it has the strategy on itself, so it joined no earlier. If the state was there when it
// joined, the write came before its Build returned, and its calls came after. If the state was made later, it had the gate
// before it was put into the map that the client takes it from. All other readers, such as a snapshot, hold mu.
type shared struct {
	*timeline
	perAuthority bool
	only         *pipeline.State // unless perAuthority

	clients []enrolled // guarded by the registry's mu

	mu        sync.Mutex // guards what follows, and the gates of every state; the kit is changed under the registry's mu, too
	kit       kit
	lanes     map[string]*pipeline.Lane // of the endpoints, by name
	isolated  bool
	recording bool // the states keep a history
	authorities
}

// A timeline is what the gates' time is measured on.
type timeline struct {
	clock clockwork.Clock
	epoch time.Time
}

// sameClock reports whether a and b are one clock. Clocks that can't be compared, for which == panics, are not.
func sameClock(a, b clockwork.Clock) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

func newShared(d *draft, t *timeline) *shared {
	s := &shared{timeline: t, perAuthority: d.PerAuthority, authorities: authorities{most: maxAuthorities}}
	if !s.perAuthority {
		s.only = &pipeline.State{Clock: t.clock, Epoch: t.epoch}
	}
	return s
}

// agree notes where d differs from the clients of its name that joined before.
func (s *shared) agree(d *draft) {
	if d.PerAuthority != s.perAuthority {
		rule := "another client of this name was built without it"
		if s.perAuthority {
			rule = "is missing: another client of this name was built with it"
		}
		d.fault(ConfigError{
			Setting: "PerAuthority()",
			Rule:    rule,
			Fix:     "give it to both or to none, or use another name or Registry",
		})
		return // budgets are named by it
	}
	if !sameClock(d.clock, s.clock) {
		d.fault(ConfigError{
			Setting: "Clock",
			Rule:    "another client of this name goes by another clock",
			Fix:     "give both the same, or use another name or Registry",
		})
	}
	s.kit.agree(d)
}

// add makes a client that agrees one of those that share s. The strategies that it is the first to have on are set up, in
// the states that there are, too. The budget is the named one, or nil if there is none.
func (s *shared) add(d *draft, b *namedBudget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kit.add(d, b)
	s.equipAll()
}

// equipAll has every state and lane go by the kit. It wants mu held.
func (s *shared) equipAll() {
	s.each(s.equip)
	for _, l := range s.lanes {
		s.equipLane(l)
	}
}

// lanesFor returns the lanes of a client's endpoints, which it shares with the other
// clients of its name that have an endpoint of the same name.
func (s *shared) lanesFor(endpoints []Endpoint) []*pipeline.Lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes := make([]*pipeline.Lane, len(endpoints))
	for i, e := range endpoints {
		l := s.lanes[e.name()]
		if l == nil {
			l = &pipeline.Lane{}
			s.equipLane(l)
			if s.lanes == nil {
				s.lanes = map[string]*pipeline.Lane{}
			}
			s.lanes[e.name()] = l
		}
		lanes[i] = l
	}
	return lanes
}

// equip has the gates of a state go by the kit, and makes those that it lacks. It wants mu held, or a state that nobody
// else has.
func (s *shared) equip(state *pipeline.State) {
	if g := s.kit.limit(state.Limit); state.Limit == nil { // else it is the same one, and calls may be reading it
		state.Limit = g
	}
	if g := s.kit.retryBudget(s.now(), state.Budget); state.Budget == nil {
		state.Budget = g
	}
	s.equipLane(&state.Lane)
	s.keepHistory(state)
}

func (s *shared) equipLane(l *pipeline.Lane) {
	now := s.now()
	fresh := l.Breaker == nil
	if g := s.kit.bucket(now, l.Rate); l.Rate == nil {
		l.Rate = g
	}
	if g := s.kit.circuit(now, l.Breaker); fresh {
		l.Breaker = g
	}
	if fresh && l.Breaker != nil && s.isolated {
		l.Tell(l.Breaker.Isolate(now), func() {})
	}
}

// now is what State.Now is.
func (s *shared) now() time.Duration { return s.clock.Since(s.epoch) }

// each calls f for every state there is. It wants mu held.
func (s *shared) each(f func(*pipeline.State)) {
	if s.only != nil {
		f(s.only)
		return
	}
	s.slots.Range(func(_, value any) bool {
		f(&value.(*slot).State)
		return true
	})
}

// eachLane calls f for every lane there is, with the authority or the name of the endpoint that it is for. It wants mu held.
func (s *shared) eachLane(f func(authority, endpoint string, l *pipeline.Lane)) {
	s.each(func(state *pipeline.State) { f(state.Authority, "", &state.Lane) })
	for name, l := range s.lanes {
		f("", name, l)
	}
}

// isolate holds all breakers open, or lets them go, and tells of each. That happens when the lock is gone, for an observer
// may look at the registry.
func (s *shared) isolate(isolated bool, tell func(pipeline.Event)) {
	var told []func()
	s.mu.Lock()
	s.isolated = isolated
	s.eachLane(func(authority, endpoint string, l *pipeline.Lane) {
		if l.Breaker == nil {
			return
		}
		change := l.Breaker.Release
		if isolated {
			change = l.Breaker.Isolate
		}
		t := change(s.now())
		if t.Changed() {
			s.recordByHand(l, t)
		}
		e := pipeline.Event{Kind: pipeline.BreakerChanged, Authority: authority, Endpoint: endpoint, Change: t}
		told = append(told, func() { l.Tell(t, func() { tell(e) }) })
	})
	s.mu.Unlock()
	for _, tell := range told {
		tell()
	}
}
