package httptestx

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
)

// activeRule is a rule at work. The Rule in it does not change any more; mu
// guards the counts only, and is not held while user code runs.
type activeRule struct {
	Rule
	place int // in the order of activation, from 0
	plans int // of a Script, else 0
	next  func(r *http.Request, n int) []Step

	mu     sync.Mutex
	counts map[string]count // by value of the Per header
}

// count is how often a rule was reached, and how often it applied.
type count struct{ reached, applied int }

// activate puts a copy of the rule to work, behind those that are at work.
func (r Rule) activate(words string, plans int, next func(*http.Request, int) []Step) {
	s := r.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	r.begun.used = true
	s.rules = append(s.rules, &activeRule{
		Rule: r.say(words), place: len(s.rules), plans: plans, next: next, counts: make(map[string]count),
	})
}

// planFor returns the plan of the first rule that applies.
func (s *Server) planFor(r *http.Request) []Step {
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	for _, rule := range rules {
		plan := rule.plan(r)
		if plan == nil {
			continue
		}
		if err := check(plan); err != nil { // only a Func can be wrong here
			s.t.Errorf("httptestx: %s: %v", rule.words, err)
			break
		}
		return plan
	}
	return []Step{Handle}
}

// plan returns nil if the rule does not apply to r.
func (a *activeRule) plan(r *http.Request) []Step {
	if !muxMatches(a.mux, r) {
		return nil
	}
	view := r.WithContext(r.Context())
	view.Body = http.NoBody
	a.mux.ServeHTTP(nil, view) // sets the path values, and does nothing
	for _, accepts := range a.accepts {
		if !accepts(view) {
			return nil
		}
	}
	n := a.count(r.Header.Get(a.per))
	if n == 0 {
		return nil
	}
	return a.next(view, n)
}

// count counts a request and returns its number, from 1, among those that the
// rule applies to, or 0 if it does not apply.
func (a *activeRule) count(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts[key]
	defer func() { a.counts[key] = c }()
	c.reached++
	d := draw{a.srv.settings.seed, a.place, key, c.reached}
	if !slices.ContainsFunc(a.selects, func(f func(draw) bool) bool { return !f(d) }) {
		c.applied++
		return c.applied
	}
	return 0
}

// String returns the rule as written, and how much of it was used.
func (a *activeRule) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plans > 0 {
		used := 0
		for _, c := range a.counts {
			used += min(c.applied, a.plans)
		}
		return fmt.Sprintf("%s: %d of %d plans used", a.words, used, a.plans*max(1, len(a.counts)))
	}
	applied := 0
	for _, c := range a.counts {
		applied += c.applied
	}
	return fmt.Sprintf("%s: applied %d times", a.words, applied)
}

// unmet says what a strict test complains about, if anything.
func (a *activeRule) unmet() string {
	a.mu.Lock()
	met := len(a.counts) > 0
	for _, c := range a.counts {
		met = met && c.applied >= max(1, a.plans)
	}
	a.mu.Unlock()
	if met {
		return ""
	}
	return a.String()
}

// draw is all that a decision by count or chance depends on.
type draw struct {
	seed  uint64
	rule  int
	key   string
	count int
}

// chance returns a number in [0, 1) that is the same for the same draw. FNV
// alone mixes the last bytes badly, so the finalizer of SplitMix64 follows.
func (d draw) chance() float64 {
	h := fnv.New64a()
	for _, n := range []uint64{d.seed, uint64(d.rule), uint64(d.count)} {
		h.Write(binary.LittleEndian.AppendUint64(nil, n))
	}
	h.Write([]byte(d.key))
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}
