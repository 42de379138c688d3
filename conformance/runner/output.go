package main

import (
	"regexp"
	"slices"
	"strings"
)

// tooMany begins the report of the goroutine check in net/http's TestMain.
const tooMany = "Too many goroutines running"

// frame marks the lines that are the testing package's own, with -test.v=test2json.
const frame = "\x16"

var (
	resultLine  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)`)
	nameLine    = regexp.MustCompile(`^=== (RUN|NAME|CONT|PAUSE)\s+(\S*)`)
	runningLine = regexp.MustCompile(`^\s+(\S+) \([^)]*\)$`)
	// errorLine tells the lines of t.Error and t.Log from what else is printed.
	errorLine = regexp.MustCompile(`_test\.go:\d+: |^panic: |^fatal error: |DATA RACE`)
	noise     = regexp.MustCompile(`^(PASS|FAIL)?$|^exit status|server log: http: `)
)

// A parser reads the output of a test binary.
type parser struct {
	process
	current string   // the test that what is printed belongs to
	begun   []string // in order
	dump    bool     // what follows are stacks
}

// parse returns what the output of a process says. What it hangs or panics in are all its culprits, parents and all.
func parse(output []byte, test string) *process {
	top, _, _ := strings.Cut(test, "/")
	p := parser{process: process{status: map[string]string{}, lines: map[string]string{}, output: output}, current: top}
	for line := range strings.Lines(string(output)) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	if p.died() {
		p.culprits = p.open(string(output))
	}
	return &p.process
}

func (p *parser) line(line string) {
	if _, framed, ok := strings.Cut(line, frame); ok {
		if m := resultLine.FindStringSubmatch(framed); m != nil {
			p.status[m[2]] = strings.ToLower(m[1])
			p.current = parent(m[2])
			return
		}
		if m := nameLine.FindStringSubmatch(framed); m != nil {
			p.named(m[1], m[2])
			return
		}
		line = framed
	}
	p.text(line)
}

// parent returns the test that a subtest is of, or a top-level test itself.
func parent(test string) string {
	if i := strings.LastIndexByte(test, '/'); i > 0 {
		return test[:i]
	}
	return test
}

func (p *parser) named(event, test string) {
	if test != "" {
		p.current = test
	}
	if event == "RUN" {
		p.begun = append(p.begun, test)
	}
}

// text takes a line that a test or the runtime printed.
func (p *parser) text(line string) {
	switch {
	case strings.HasPrefix(line, "panic: test timed out"):
		p.how = hung
	case p.how == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")):
		p.how = panicked
	case strings.HasPrefix(line, "goroutine "):
		p.dump = true
	}
	line = strings.TrimSpace(line)
	if p.dump || noise.MatchString(line) {
		return
	}
	// The last of what t.Error, t.Fatal and t.Log print is mostly what the test failed by.
	if errorLine.MatchString(line) || p.lines[p.current] == "" {
		p.lines[p.current] = line
	}
}

// open returns the tests that were running at the end: as the timeout of the testing package lists them, or else those that
// have begun and not ended.
func (p *parser) open(output string) []string {
	var names []string
	if _, list, ok := strings.Cut(output, "running tests:\n"); ok {
		for line := range strings.Lines(list) {
			m := runningLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				break
			}
			names = append(names, m[1])
		}
	}
	if len(names) > 0 {
		return names
	}
	return slices.DeleteFunc(p.begun, func(name string) bool { return p.status[name] != "" })
}

// leakers names where the goroutines were started that are left.
func leakers(output string) string {
	_, stacks, _ := strings.Cut(output, tooMany)
	var places []string
	for line := range strings.Lines(stacks) {
		if strings.HasPrefix(line, "created by ") {
			places = append(places, strings.TrimSpace(line))
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	return "leaked goroutines: " + strings.Join(places[:min(len(places), 4)], "; ")
}
