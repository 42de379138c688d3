package main

import (
	"io"
	"testing"

	"github.com/matryer/is"
)

// told is a report of these tests, each of which ran once, or twice with two results.
func told(tests map[string][]string) *report {
	r := newReport()
	r.Whole = true
	for id, results := range tests {
		for _, status := range results {
			r.add(id, status, testFailed, "x_test.go:1: wrong")
		}
	}
	return r
}

func rulesOf(t *testing.T, text string) []rule {
	t.Helper()
	rules, err := parseRules(text, "retry")
	is.New(t).NoErr(err) // the rules are well-formed
	return rules
}

func TestFailureThatNoRuleAllowsIsWrong(t *testing.T) {
	got := told(map[string][]string{
		"http.TestA": {failed}, "http.TestA/h1": {failed}, "http.TestA/h2": {passed},
		"http.TestB": {failed}, "http.TestB/h1": {failed},
		"http.TestC": {failed, passed},
		"http.TestD": {failed},
		"http.TestE": {skipped},
		"http.TestF": {passed},
	})
	base := told(map[string][]string{"http.TestD": {failed}})
	v := judge(got, base, rulesOf(t, "retry\thttp.TestB\talways\tof a reason\nnoretry\thttp.TestA\talways\tof another\n"))
	is := is.New(t)
	is.Equal(len(v.wrong), 1)                                                    // TestA: the rule is another variant's
	is.Equal(v.wrong[0].id, "http.TestA/h1")                                     // the subtest, not its parent
	is.Equal(len(v.flaky), 1)                                                    // TestC
	is.Equal(len(v.same), 1)                                                     // TestD fails without a wrapper, too
	is.Equal([]int{v.passed, v.failed, v.allowed, v.skipped}, []int{2, 1, 2, 1}) // top-level tests: C F, A, B D, E
	is.True(!v.ok())                                                             // TestA
}

func TestRuleIsStaleWhenItsTestPasses(t *testing.T) {
	got := told(map[string][]string{
		"http.TestA": {passed}, "http.TestA/h1": {passed},
		"http.TestB": {passed},
		"http.TestC": {skipped},
		"http.TestD": {failed, passed},
	})
	v := judge(got, newReport(), rulesOf(t, `retry	http.TestA/h1	always	passes now
both	http.TestB	sometimes	may pass
both	http.TestC	always	can't run here
retry	http.TestD	always	passes at times
retry	http.TestE	always	is not in this Go release
`))
	is := is.New(t)
	is.Equal(len(v.stale), 2)                  // A, and E
	is.Equal(v.stale[0].test, "http.TestA/h1") // it has passed
	is.Equal(v.stale[1].test, "http.TestE")    // it does not exist
	is.True(!v.ok())                           // somebody has to look
	got.Whole = false
	v = judge(got, newReport(), rulesOf(t, "retry\thttp.TestE\talways\twas not run\n"))
	is.True(v.ok()) // with -only nothing is known of the others
}

func TestRulesAreChecked(t *testing.T) {
	for _, text := range []string{
		"retry\thttp.TestA\talways\n",
		"retry\thttp.TestA\talways\t\n",
		"retry\thttp.TestA\tnever\treason\n",
	} {
		_, err := parseRules(text, "retry")
		is.New(t).True(err != nil) // no reason, or no such word
	}
	rules, err := parseRules("# comment\n\nretry\thttp.TestA\tsometimes\treason\n", "retry")
	is := is.New(t)
	is.NoErr(err)                                                // comments and empty lines are nothing
	is.Equal(rules, []rule{{test: "http.TestA", always: false}}) // the one rule
	is.True(rules[0].covers("http.TestA/h1"))                    // it is about subtests, too
	is.True(!rules[0].covers("http.TestAB"))                     // and not about other tests
}

func TestMutantHasToBeNoticed(t *testing.T) {
	is := is.New(t)
	is.True(noticed(io.Discard, "mutant", judge(told(map[string][]string{"http.TestA": {passed}}), newReport(), nil)) != nil) // nothing failed
	is.NoErr(noticed(io.Discard, "mutant", judge(told(map[string][]string{"http.TestA": {failed}}), newReport(), nil)))       // something did
}
