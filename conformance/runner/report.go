package main

import (
	"encoding/json"
	"os"
	"strings"
)

// flaky is a test that failed, and passed at another try.
const flaky = "flaky"

// A result is what one test or subtest did, over all tries.
type result struct {
	Status string // passed, failed, skipped or flaky
	How    string `json:",omitempty"` // it failed
	Line   string `json:",omitempty"` // of output, at the first failure
	Runs   int
	Fails  int
}

func (r *result) bad() bool { return r.Status == failed || r.Status == flaky }

// A report is what all tests did, by id.
type report struct {
	Tests   map[string]*result
	Seconds map[string]float64 // what each top-level test took
	Trips   int64              // round trips through a wrapper
	Whole   bool               // all tests were run
}

func newReport() *report {
	return &report{Tests: map[string]*result{}, Seconds: map[string]float64{}}
}

func loadReport(file string) (*report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := newReport()
	return r, json.Unmarshal(b, r)
}

func (r *report) save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// add notes what a test did in one process.
func (r *report) add(id, status, how, line string) {
	t := r.Tests[id]
	if t == nil {
		t = &result{}
		r.Tests[id] = t
	}
	t.Runs++
	if status == failed {
		t.Fails++
		t.How = how
		if t.Line == "" {
			t.Line = line
		}
	}
	switch {
	case t.Fails == 0:
		t.Status = status
	case t.Fails < t.Runs:
		t.Status = flaky
	default:
		t.Status = failed
	}
}

// failures returns the tests that failed or were flaky, without those that only did because a subtest of them did.
func (r *report) failures() map[string]*result {
	told := map[string]bool{}
	for id, t := range r.Tests {
		if t.bad() {
			for i := strings.LastIndexByte(id, '/'); i > 0; i = strings.LastIndexByte(id[:i], '/') {
				told[id[:i]] = true
			}
		}
	}
	list := map[string]*result{}
	for id, t := range r.Tests {
		if t.bad() && (!told[id] || t.How == leaked) {
			list[id] = t
		}
	}
	return list
}
