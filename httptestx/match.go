package httptestx

import (
	"encoding/binary"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
)

// activeRule is a rule at work. The Rule in it does not change any more; mu
// guards the counts only, and is not held while user code runs.
type activeRule struct {
	Rule
	place  int      // in the order of activation, from 0; below that for connections
	script [][]Step // of a Script, else nil
	next   plans
	loaded bool // from a document

	mu     sync.Mutex
	counts map[string]count // by value of the Per header
}

// count is how often a rule was reached, and how often it applied.
type count struct{ reached, applied int }

// plans gives the n-th request of a rule, from 1, its plan; nil leaves it to the next rule.
type plans func(r *http.Request, n int) []Step

// always is the plans of Do.
func always(plan []Step) plans {
	return func(*http.Request, int) []Step { return plan }
}

// inTurn is the plans of a Script.
func inTurn(script [][]Step) plans {
	return func(_ *http.Request, n int) []Step {
		if n > len(script) {
			return nil
		}
		return script[n-1]
	}
}

// active returns a copy of the rule that is ready for work; words say by what.
func (r Rule) active(words string, place int, script [][]Step, next plans) *activeRule {
	return &activeRule{Rule: r.say(words), place: place, script: script, next: next, counts: make(map[string]count)}
}

// activate puts a copy of the rule to work, behind those that are at work.
func (r Rule) activate(words string, script [][]Step, next plans) {
	s := r.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	r.begun.used = true
	s.rules = append(s.rules, r.active(words, len(s.rules), script, next))
}

// planFor returns the plan of the first rule that applies, and what its steps
// draw from.
func (s *Server) planFor(r *http.Request) ([]Step, draw) {
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	for _, rule := range rules {
		plan, by := rule.plan(r)
		if plan == nil {
			continue
		}
		if err := check(plan, s.settings.dishonest); err != nil { // only a Func can be wrong here
			s.t.Errorf("httptestx: %s: %v", rule.words, err)
			break
		}
		return plan, by
	}
	return []Step{Handle}, draw{}
}

// plan returns nil if the rule does not apply to r.
func (a *activeRule) plan(r *http.Request) ([]Step, draw) {
	if !muxMatches(a.mux, r) {
		return nil, draw{}
	}
	view := r.WithContext(r.Context())
	view.Body = http.NoBody
	a.mux.ServeHTTP(nil, view) // sets the path values, and does nothing
	for _, accepts := range a.accepts {
		if !accepts(view) {
			return nil, draw{}
		}
	}
	key := r.Header.Get(a.per)
	n := a.count(key)
	if n == 0 {
		return nil, draw{}
	}
	return a.next(view, n), a.draw(key, n)
}

func (a *activeRule) draw(key string, count int) draw {
	return draw{seed: a.srv.seed.Load(), rule: a.place, key: key, count: count}
}

// count counts a request and returns its number, from 1, among those that the
// rule applies to, or 0 if it does not apply.
func (a *activeRule) count(key string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts[key]
	defer func() { a.counts[key] = c }()
	c.reached++
	d := a.draw(key, c.reached)
	if !slices.ContainsFunc(a.selects, func(f func(draw) bool) bool { return !f(d) }) {
		c.applied++
		return c.applied
	}
	return 0
}

// draw is all that a decision by count or chance depends on.
type draw struct {
	seed  uint64
	rule  int
	key   string
	count int
	step  int // place in the plan, from 1; 0 for the rule's own decision
}

// chance returns a number in [0, 1) that is the same for the same draw.
func (d draw) chance() float64 { return float64(d.hash()>>11) / (1 << 53) }

// hash mixes the draw. FNV alone mixes the last bytes badly.
func (d draw) hash() uint64 {
	h := fnv.New64a()
	add := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	add(d.seed)
	add(uint64(d.rule))
	add(uint64(d.count))
	h.Write([]byte(d.key))
	if d.step > 0 {
		add(uint64(d.step))
	}
	return mix(h.Sum64())
}

// mix is the finalizer of SplitMix64: each bit of z changes half of the result.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
