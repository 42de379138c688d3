package main

import (
	"strings"
	"testing"

	"github.com/matryer/is"
)

// concluded is a process with this output, in which ^ stands for the mark of the testing package's own lines.
func concluded(output, test string, badExit bool) *process {
	p := parse([]byte(strings.ReplaceAll(output, "^", frame)), test)
	p.conclude(test, badExit)
	return p
}

func TestOutputOfAFailureIsRead(t *testing.T) {
	p := concluded(`^=== RUN   TestX
^=== RUN   TestX/h1
    x_test.go:7: just a note
    x_test.go:9: got 2, want 1
^    --- FAIL: TestX/h1 (0.01s)
^=== NAME  TestX
^=== RUN   TestX/h2
^    --- PASS: TestX/h2 (0.01s)
^=== NAME  TestX
^--- FAIL: TestX (0.02s)
^=== NAME  
FAIL
`, "TestX", true)
	is := is.New(t)
	is.Equal(p.how, testFailed)                                                                    // no panic and no hang
	is.Equal(p.status, map[string]string{"TestX": failed, "TestX/h1": failed, "TestX/h2": passed}) // each by its name
	is.Equal(p.lines["TestX/h1"], "x_test.go:9: got 2, want 1")                                    // its last line
	is.Equal(len(p.culprits), 0)                                                                   // nothing was cut short
}

func TestHangIsBlamedOnTheDeepestTest(t *testing.T) {
	p := concluded(`^=== RUN   TestX
^=== RUN   TestX/h1
^    --- PASS: TestX/h1 (0.01s)
^=== NAME  TestX
^=== RUN   TestX/h2
panic: test timed out after 5s
	running tests:
		TestX (5s)
		TestX/h2 (5s)

goroutine 7 [running]:
`, "TestX", true)
	is := is.New(t)
	is.Equal(p.how, hung)                      // as the testing package says
	is.Equal(p.culprits, []string{"TestX/h2"}) // not its parent, which waits for it
	is.Equal(p.status["TestX/h2"], failed)     // though there is no result
	is.Equal(p.status["TestX"], failed)        // for a subtest has
	is.Equal(p.howOf("TestX/h2"), hung)        // the one to blame
	is.Equal(p.howOf("TestX"), testFailed)     // the other
}

func TestPanicIsBlamedOnTheTestsWithoutResult(t *testing.T) {
	p := concluded(`^=== RUN   TestX
^=== RUN   TestX/a
^    --- PASS: TestX/a (0.01s)
^=== RUN   TestX/b
panic: runtime error: index out of range

goroutine 7 [running]:
`, "TestX", true)
	is := is.New(t)
	is.Equal(p.how, panicked)                 // the runtime ended the process
	is.Equal(p.culprits, []string{"TestX/b"}) // the one that was running
}

func TestLeakedGoroutinesFailTheTest(t *testing.T) {
	p := concluded(`^=== RUN   TestX
^--- PASS: TestX (0.00s)
PASS
Too many goroutines running after net/http test(s).
1 instances of:
created by net/http.(*Transport).dialConn in goroutine 9
`, "TestX", true)
	is := is.New(t)
	is.Equal(p.how, leaked)                                    // although the test has passed
	is.Equal(p.status["TestX"], failed)                        // which is not enough
	is.True(strings.Contains(p.lines["TestX"], "dialConn in")) // and it says what
}

func TestPatternMatchesNothingElse(t *testing.T) {
	is := is.New(t)
	is.Equal(exactly("TestX/a.b", "TestY"), `^TestX$/^a\.b$|^TestY$`) // anchored at each element, and quoted
}
