package report

import (
	"math"
	"testing"
)

func TestRatioIsThatOfOneRound(t *testing.T) {
	s := samples{}
	for _, line := range []string{
		"goos: linux",
		"BenchmarkX/bare-2 \t 10\t 100 ns/op\t 8 B/op",
		"BenchmarkX/ours-2   10   150 ns/op   8 B/op",
		"BenchmarkX/bare-2   10   1000 ns/op   8 B/op", // somebody else was busy in this round
		"BenchmarkX/ours-2   10   1500 ns/op   8 B/op",
		"PASS",
	} {
		s.add(line)
	}
	if r := s.ratio("X/ours-2", "X/bare-2", "ns/op"); r != 1.5 {
		t.Errorf("%v, want 1.5 of both rounds", r)
	}
	if d := s.beyond("X/ours-2", "X/bare-2", "B/op"); d != 0 {
		t.Errorf("%v bytes, want none", d)
	}
	if v := s.of("X/nobody", "ns/op"); !math.IsNaN(v) {
		t.Errorf("%v, want nothing for what was not measured", v)
	}
}

func TestGoalThatWasNotMeasuredIsNotReached(t *testing.T) {
	for _, g := range goals(samples{}) {
		if g.verdict() != "not measured" {
			t.Errorf("%q: %s", g.text, g.verdict())
		}
	}
}

func TestGoalMayHaveALowerBound(t *testing.T) {
	for _, row := range []struct {
		found, bound float64
		least        bool
		want         string
	}{
		{found: 3, bound: 2, least: true, want: "reached"},
		{found: 1, bound: 2, least: true, want: "**not reached**"},
		{found: 1, bound: 2, want: "reached"},
		{found: 3, bound: 2, want: "**not reached**"},
	} {
		if got := (goal{found: row.found, bound: row.bound, least: row.least}).verdict(); got != row.want {
			t.Errorf("%v to %v: %s, want %s", row.found, row.bound, got, row.want)
		}
	}
}
