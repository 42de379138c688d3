package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A suite runs the tests of some packages.
type suite struct {
	goroot, bin  string   // folders of the Go tree and of the test binaries
	logs, counts string   // folders for what processes leave
	packages     []string // import paths
	variant      string
	only, skip   *regexp.Regexp // nil: all tests, and none
	workers      int            // processes at once
	tries        int            // before a test counts as failed
	limit        time.Duration  // for one process, at the first try, beside six times what it takes without a wrapper
	seconds      map[string]float64
	settled      func(id string) bool // a failure that needs no second try

	mu     sync.Mutex
	report *report
}

// A job is one test for a process of its own. Without skip: its subtests that have ended such a process before.
type job struct {
	pkg, test string
	skip      []string
}

// id names a test in reports: "http.TestRedirects/h1".
func (j job) id(test string) string { return j.pkg[strings.LastIndexByte(j.pkg, '/')+1:] + "." + test }

// mostRounds bounds how many subtests of one test may end its process, one after the other.
const mostRounds = 40

// runAll tries each test, and the failed ones again. What passes once is flaky, not failed. The last try has less beside it.
func (s *suite) runAll() (*report, error) {
	s.report = newReport()
	var jobs []job
	for _, pkg := range s.packages {
		tests, err := s.list(pkg)
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			jobs = append(jobs, job{pkg: pkg, test: t})
		}
	}
	s.report.Whole = s.only == nil
	// The longest first: nothing then waits for them at the end.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(s.seconds[b.id(b.test)], s.seconds[a.id(a.test)]) })
	for try := 1; try <= s.tries && len(jobs) > 0; try++ {
		workers := s.workers
		if try == s.tries {
			workers = 2
		}
		var err error
		if jobs, err = s.runJobs(jobs, try, workers); err != nil {
			return nil, err
		}
	}
	return s.report, nil
}

// list returns the top-level tests of a package that are to run.
func (s *suite) list(pkg string) ([]string, error) {
	cmd := exec.Command(s.binary(pkg), "-test.list", ".*")
	cmd.Dir = s.dir(pkg)
	cmd.Env = s.environment("")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", cmd.Path, err)
	}
	tests := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
		return !testName.MatchString(name) || s.only != nil && !s.only.MatchString(name) || s.skip != nil && s.skip.MatchString(name)
	})
	return tests, nil
}

var testName = regexp.MustCompile(`^(Test|Example|Fuzz)`)

func (s *suite) binary(pkg string) string {
	return filepath.Join(s.bin, strings.ReplaceAll(pkg, "/", "_")+".test")
}

func (s *suite) dir(pkg string) string { return filepath.Join(s.goroot, "src", pkg) }

// environment makes `go` the copied tree's, and names the variant and the file for the number of round trips.
func (s *suite) environment(count string) []string {
	return append(os.Environ(),
		"GOROOT="+s.goroot,
		"PATH="+filepath.Join(s.goroot, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"CONFORMANCE_VARIANT="+s.variant,
		"CONFORMANCE_COUNT="+count,
	)
}

// runJobs runs jobs, some at once, and returns those that are to be tried again.
func (s *suite) runJobs(jobs []job, try, workers int) (again []job, err error) {
	queue := make(chan job)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for j := range queue {
				more, jobErr := s.runJob(j, try)
				s.mu.Lock()
				again = append(again, more...)
				err = cmp.Or(err, jobErr)
				s.mu.Unlock()
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	running.Wait()
	slices.SortFunc(again, func(a, b job) int { return strings.Compare(a.id(a.test), b.id(b.test)) })
	return again, err
}

// runJob runs a test. When a subtest ends the process, by a panic or by hanging, the others are run without it, and that one
// is tried by itself later.
func (s *suite) runJob(j job, try int) (again []job, err error) {
	for round := 1; ; round++ {
		name := fmt.Sprintf("%s.%d.%d", strings.ReplaceAll(j.id(j.test), "/", "_"), try, round)
		p, err := s.start(j, name, s.limitOf(j, try, round))
		if err != nil {
			return nil, err
		}
		s.note(j, p, try)
		if p.how == "" {
			return again, nil
		}
		if err := os.WriteFile(filepath.Join(s.logs, name+".log"), p.output, 0o644); err != nil {
			return nil, err
		}
		below := slices.DeleteFunc(slices.Clone(p.culprits), func(test string) bool { return !strings.HasPrefix(test, j.test+"/") })
		if len(below) == 0 || round == mostRounds {
			// A hang or a panic that was seen twice is proof enough, and costs the most.
			if !s.settledBy(j, p) && (try == 1 || !p.died()) {
				again = append(again, j)
			}
			return again, nil
		}
		for _, test := range below {
			if try == 1 && !s.settled(j.id(test)) {
				again = append(again, job{pkg: j.pkg, test: test})
			}
		}
		j.skip = append(slices.Clone(j.skip), below...)
	}
}

// settledBy reports whether all that failed in a process may fail.
func (s *suite) settledBy(j job, p *process) bool {
	for test, status := range p.status {
		if status == failed && !hasFailingBelow(p.status, test) && !s.settled(j.id(test)) {
			return false
		}
	}
	return true
}

func hasFailingBelow(status map[string]string, test string) bool {
	for other, st := range status {
		if st == failed && strings.HasPrefix(other, test+"/") {
			return true
		}
	}
	return false
}

func (s *suite) limitOf(j job, try, round int) time.Duration {
	limit := s.limit
	switch {
	case try > 1:
		limit *= 2
	case round > 3: // many subtests hang: be quick, they are tried again
		limit /= 2
	}
	top, _, _ := strings.Cut(j.test, "/")
	return limit + time.Duration(6*s.seconds[j.id(top)]*float64(time.Second))
}

// note adds what a process told to the report.
func (s *suite) note(j job, p *process, try int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for test, status := range p.status {
		s.report.add(j.id(test), status, p.howOf(test), p.lines[test])
	}
	s.report.Trips += p.trips
	if try == 1 {
		id := j.id(j.test)
		s.report.Seconds[id] = max(s.report.Seconds[id], p.seconds)
	}
}
