package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A failure is a test that did not pass.
type failure struct {
	id     string
	result *result
}

// A verdict is what a report comes to. It counts top-level tests, and lists the subtests to blame.
type verdict struct {
	passed, failed, allowed, skipped int
	trips                            int64

	wrong []failure // that no rule allows
	same  []failure // failed without a wrapper too
	flaky []failure // passed at another try
	stale []rule    // whose tests pass
}

// judge compares a report with the baseline and the rules.
func judge(got, base *report, rules []rule) verdict {
	v := verdict{trips: got.Trips}
	bad, allowed := map[string]bool{}, map[string]bool{} // top-level tests
	failures := got.failures()
	for _, id := range slices.Sorted(maps.Keys(failures)) {
		top, _, _ := strings.Cut(id, "/")
		f := failure{id: id, result: failures[id]}
		before := base.Tests[id]
		switch {
		case before != nil && before.bad():
			v.same = append(v.same, f)
			allowed[top] = allowed[top] || f.result.Status == failed
		case allows(rules, id):
			allowed[top] = true
		case f.result.Status == flaky:
			v.flaky = append(v.flaky, f)
		default:
			v.wrong = append(v.wrong, f)
			bad[top] = true
		}
	}
	for id, t := range got.Tests {
		switch {
		case strings.Contains(id, "/"):
		case bad[id]:
			v.failed++
		case allowed[id]:
			v.allowed++
		case t.Status == skipped:
			v.skipped++
		default:
			v.passed++
		}
	}
	for _, r := range rules {
		if r.always && stale(r, got) {
			v.stale = append(v.stale, r)
		}
	}
	return v
}

// stale reports whether what a rule is about has passed, or is no test any more.
func stale(r rule, got *report) bool {
	top, _, _ := strings.Cut(r.test, "/")
	if got.Tests[top] == nil {
		return got.Whole
	}
	ran := false
	for id, t := range got.Tests {
		if !r.covers(id) {
			continue
		}
		if t.bad() {
			return false
		}
		ran = ran || t.Status == passed
	}
	return ran
}

func (v *verdict) ok() bool { return len(v.wrong) == 0 && len(v.stale) == 0 }

func (v *verdict) print(w io.Writer, variant, logs string, took time.Duration) {
	fmt.Fprintf(w, "\n%s\n", variant)
	show(w, "failed, without the wrapper too:", v.same)
	show(w, "flaky, passed at another try:", v.flaky)
	show(w, "FAILED:", v.wrong)
	if len(v.stale) > 0 {
		fmt.Fprintln(w, "  PASSED, although expected.tsv says that they always fail; take them out:")
	}
	for _, r := range v.stale {
		fmt.Fprintf(w, "    %s\n", r.test)
	}
	if len(v.wrong)+len(v.flaky) > 0 {
		fmt.Fprintf(w, "  what they printed is in %s\n", logs)
	}
	if v.trips > 0 {
		fmt.Fprintf(w, "  %d round trips went through the wrapper\n", v.trips)
	}
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d failed as allowed, %d skipped", variant, v.passed, v.failed, v.allowed, v.skipped)
	if len(v.stale) > 0 {
		fmt.Fprintf(w, ", %d to be taken out of expected.tsv", len(v.stale))
	}
	fmt.Fprintf(w, ", %.0f s\n", took.Seconds())
}

// show prints some failures, each with what it printed.
func show(w io.Writer, title string, list []failure) {
	const mostOfLine = 200
	if len(list) > 0 {
		fmt.Fprintf(w, "  %s\n", title)
	}
	for _, f := range list {
		line := f.result.Line
		if len(line) > mostOfLine {
			line = line[:mostOfLine] + "…"
		}
		fmt.Fprintf(w, "    %s [%s] %s\n", f.id, f.result.How, line)
	}
}

// noticed tells whether a test failed, as with a mutant it should.
func noticed(w io.Writer, variant string, v verdict) error {
	if v.failed == 0 {
		fmt.Fprintf(w, "%s: NOT NOTICED by %d tests\n", variant, v.passed+v.skipped)
		return errFailed
	}
	f := v.wrong[0]
	fmt.Fprintf(w, "%s: noticed by %s [%s]\n", variant, f.id, f.result.How)
	return nil
}
