package httptestx

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String returns the rule as written, and how much of it was used.
func (a *activeRule) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	used, applied, reached := 0, 0, 0
	for _, c := range a.counts {
		used += min(c.applied, len(a.script))
		applied += c.applied
		reached += c.reached
	}
	if a.script != nil {
		return fmt.Sprintf("%s: %d of %s used", a.words, used, plural(len(a.script)*max(1, len(a.counts)), "plan"))
	}
	return fmt.Sprintf("%s: applied to %d of %s", a.words, applied, plural(reached, a.noun()))
}

// unmet says what a strict test complains about, "" if there is nothing.
func (a *activeRule) unmet() string {
	a.mu.Lock()
	reached := len(a.counts) > 0
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(a.counts)) {
		c := a.counts[key]
		if c.applied < max(1, len(a.script)) {
			missing = append(missing, a.missing(key, c.applied))
		}
	}
	a.mu.Unlock()
	switch {
	case !reached:
		return fmt.Sprintf("%v; no %s got as far as this rule", a, a.noun())
	case len(missing) == 0:
		return ""
	}
	if more := len(missing) - unmetShown; more > 0 {
		missing = append(missing[:unmetShown], fmt.Sprintf("; and %d more", more))
	}
	return a.String() + strings.Join(missing, "")
}

// unmetShown is for how many values of Per a message says what is missing.
const unmetShown = 5

// missing says what a value of Per has not had: all plans of a script from number
// applied on, or anything.
func (a *activeRule) missing(key string, applied int) string {
	whose := ""
	if a.per != "" {
		whose = fmt.Sprintf(" for %s %q", a.per, key)
	}
	switch {
	case a.script == nil && whose == "":
		return ""
	case a.script == nil:
		return "; never" + whose
	}
	return fmt.Sprintf("; next%s: %s", whose, planString(a.script[applied], -1, nil))
}

// reportUnmet tells a strict test which rules were not used as they should be.
func (s *Server) reportUnmet() {
	s.t.Helper()
	var b strings.Builder
	for _, r := range s.allRules() {
		if unmet := r.unmet(); unmet != "" {
			fmt.Fprintf(&b, "\n  %s", unmet)
		}
	}
	if b.Len() > 0 {
		s.t.Errorf("httptestx: the requests did not use up the rules (Strict; %s)%s\n  the requests were:\n%s",
			s.seedWords(), b.String(), s.exchangeLines(s.Exchanges(), nil))
	}
}
