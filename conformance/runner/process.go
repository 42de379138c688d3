package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What a test did, as Go says it.
const (
	passed  = "pass"
	failed  = "fail"
	skipped = "skip"
)

// How a process ended, if not well.
const (
	testFailed   = "fail"
	hung         = "hang"
	panicked     = "panic"
	leaked       = "leak" // goroutines, found by the tests' own check when all have passed
	exitedBadly  = "exit" // for none of these reasons
	mostOfOutput = 200 << 10
)

// A process is what one process of a test binary told.
type process struct {
	status   map[string]string // by full name of test
	lines    map[string]string // the line of output that says most about a failure
	how      string            // "": all passed
	culprits []string          // the tests, with none below them, that ran when it panicked or hung
	trips    int64             // round trips through a wrapper
	output   []byte
	seconds  float64
}

// died reports whether one test has ended the process for all.
func (p *process) died() bool { return p.how == hung || p.how == panicked }

func (p *process) howOf(test string) string {
	if slices.Contains(p.culprits, test) || p.how == leaked || p.how == exitedBadly {
		return p.how
	}
	return testFailed
}

// start runs the test of a job, and waits for its end. The name is the process's own.
func (s *suite) start(j job, name string, limit time.Duration) (*process, error) {
	count := filepath.Join(s.counts, name)
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout", limit.String(), "-test.run", exactly(j.test)}
	if len(j.skip) > 0 {
		args = append(args, "-test.skip", exactly(j.skip...))
	}
	// A second limit, for a test binary that does not heed its own.
	ctx, cancel := context.WithTimeout(context.Background(), limit+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary(j.pkg), args...)
	cmd.Dir = s.dir(j.pkg)
	cmd.Env = s.environment(count)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its own children end with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	began := time.Now()
	output, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		return nil, err
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left running
	p := parse(output, j.test)
	p.seconds = time.Since(began).Seconds()
	if ctx.Err() != nil {
		p.how = hung
	}
	p.conclude(j.test, err != nil && !errors.Is(err, exec.ErrWaitDelay))
	if trips, err := os.ReadFile(count); err == nil { // a process that died has left none, or an empty one
		p.trips, _ = strconv.ParseInt(strings.TrimSpace(string(trips)), 10, 64)
	}
	return p, nil
}

// exactly returns the pattern for the -test flags that matches these tests.
func exactly(tests ...string) string {
	var patterns []string
	for _, t := range tests {
		elements := strings.Split(t, "/")
		for i, e := range elements {
			elements[i] = "^" + regexp.QuoteMeta(e) + "$"
		}
		patterns = append(patterns, strings.Join(elements, "/"))
	}
	return strings.Join(patterns, "|")
}

// conclude settles how the process ended and which tests are to blame.
func (p *process) conclude(test string, badExit bool) {
	top, _, _ := strings.Cut(test, "/")
	switch {
	case p.how != "" || !badExit:
	case p.status[top] == failed:
		p.how = testFailed
	case bytes.Contains(p.output, []byte(tooMany)):
		p.how = leaked
		p.lines[top] = leakers(string(p.output))
	default:
		p.how = exitedBadly
	}
	if p.died() {
		for _, open := range p.culprits {
			p.status[open] = failed
		}
		all := slices.Clone(p.culprits)
		p.culprits = slices.DeleteFunc(p.culprits, func(name string) bool {
			return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+"/") })
		})
	}
	if p.how != "" {
		p.status[top] = failed
	}
	p.output = p.output[:min(len(p.output), mostOfOutput)]
}
