package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// A goal is one that can be read off the results: a figure and its bound.
type goal struct {
	number int
	text   string
	found  float64
	bound  float64
	least  bool // the bound is a lower one
	unit   string
	places int
}

func (g goal) reached() bool {
	if g.least {
		return g.found >= g.bound
	}
	return g.found <= g.bound
}

func (g goal) verdict() string {
	switch {
	case math.IsNaN(g.found):
		return "not measured"
	case g.reached():
		return "reached"
	}
	return "**not reached**"
}

// goalTable is the table of all.
func goalTable(b *bytes.Buffer, s samples) {
	section(b, "Goals", "The goals were set from prototypes, on another machine: those in nanoseconds with that machine's clock in mind.")
	header(b, "", "goal", "measured", "")
	for _, g := range goals(s) {
		row(b, fmt.Sprint(g.number), g.text, show(g.found, g.places)+g.unit, g.verdict())
	}
}

func goals(s samples) []goal {
	var all []goal
	for _, part := range []func(samples) []goal{decisionGoals, pipelineGoals, loopbackGoals, flightGoals, streamGoals} {
		all = append(all, part(s)...)
	}
	slices.SortStableFunc(all, func(a, b goal) int { return a.number - b.number })
	return all
}

func decisionGoals(s samples) []goal {
	ns := func(name string) float64 { return s.of(name, "ns/op") }
	return []goal{
		{1, "budget: a request is recorded in ≤ 12 ns", ns("BudgetRecord/resilient"), 12, false, " ns", 1},
		{1, "… in ≤ 40 ns if it reads the clock itself", ns("BudgetRecord/resilient/clock"), 40, false, " ns", 1},
		{1, "… without an allocation", s.of("BudgetRecord/resilient", "allocs/op"), 0, false, "", 0},
		{1, "… and by two processors at once in ≤ 5 times that", s.ratio("BudgetRecord/resilient-2", "BudgetRecord/resilient", "ns/op"), 5, false, "×", 1},
		{2, "budget: a retry is decided in ≤ 50 ns, the clock included", ns("BudgetRetry/resilient/clock"), 50, false, " ns", 1},
		{2, "… without an allocation", s.of("BudgetRetry/resilient/clock", "allocs/op"), 0, false, "", 0},
		{3, "breaker: an attempt is admitted and settled in ≤ 12 ns", ns("Breaker/resilient"), 12, false, " ns", 1},
		{3, "… in ≤ 40 ns if it reads the clock itself", ns("Breaker/resilient/clock"), 40, false, " ns", 1},
		{3, "… ≥ 3 times faster than gobreaker", s.ratio("Breaker/gobreaker-execute", "Breaker/resilient", "ns/op"), 3, true, "×", 1},
		{4, "concurrency limit: entered and left in ≤ 15 ns", ns("Limit/resilient"), 15, false, " ns", 1},
		{4, "… ≥ 2 times faster than a channel", s.ratio("Limit/channel", "Limit/resilient", "ns/op"), 2, true, "×", 1},
		{4, "… without an allocation", s.of("Limit/resilient", "allocs/op"), 0, false, "", 0},
		{13, "the clock is read in ≤ 25 ns", ns("Clock/resilient"), 25, false, " ns", 1},
		{13, "… at most twice for a call of one attempt", s.of("ClockReads", "reads/call"), 2, false, "", 0},
	}
}

func pipelineGoals(s samples) []goal {
	more := func(situation, unit string) float64 {
		return s.beyond("Pipeline/"+situation+"/"+contender.Resilient, "Pipeline/"+situation+"/"+contender.Bare, unit)
	}
	less := func(situation, than string) float64 {
		name := "Pipeline/" + situation + "/"
		return s.beyond(name+than, name+contender.Bare, "ns/op") / more(situation, "ns/op")
	}
	return []goal{
		{5, "a call over a stub, of a caller who may leave, takes ≤ 3 allocations", more("get-cancellable", "allocs/op"), 3, false, "", 0},
		{5, "… of ≤ 640 bytes", more("get-cancellable", "B/op"), 640, false, " B", 0},
		{5, "… of a caller who can't leave ≤ 1", more("get-background", "allocs/op"), 1, false, "", 0},
		{5, "… of one whose deadline is sooner ≤ 1", more("get-sooner", "allocs/op"), 1, false, "", 0},
		{5, "… with a request body no more than without", more("post-1k", "allocs/op") - more("get-cancellable", "allocs/op"), 0, false, " more", 0},
		{6, "it takes ≤ 1.0 µs more", more("get-cancellable", "ns/op") / 1000, 1, false, " µs", 2},
		{6, "failsafe-go adds ≥ 6 times as much", less("get-cancellable", contender.Failsafe), 6, true, "×", 1},
		{6, "… with a request body ≥ 7 times", less("post-1k", contender.Failsafe), 7, true, "×", 1},
		{6, "… for a caller who can't leave ≥ 4 times", less("get-background", contender.Failsafe), 4, true, "×", 1},
		{6, "hand-written parts add ≥ 2 times as much", less("get-cancellable", contender.DIY), 2, true, "×", 1},
	}
}

func loopbackGoals(s samples) []goal {
	const get, sooner = "Loopback/get-64/", "Loopback/get-64-sooner/"
	alone := func(unit string) float64 {
		return s.beyond("Loopback/get-1/"+contender.Resilient, "Loopback/get-1/"+contender.Bare, unit)
	}
	noise := math.Abs(s.ratio(get+contender.Again, get+contender.Bare, "cpu-ns/op") - 1)
	aside := fmt.Sprintf(" (noise %s)", show(noise, 2))
	return []goal{
		{7, "over a real connection a call takes ≤ 7 allocations more", alone("allocs/op"), 7.5, false, "", 1},
		{7, "… and ≤ 1 KiB", alone("B/op"), 1024, false, " B", 0},
		{8, "64 callers over loopback take ≤ 1.12 of the processor time", s.ratio(get+contender.Resilient, get+contender.Bare, "cpu-ns/op"), 1.12, false, "×" + aside, 2},
		{8, "… and ≤ 1.03 of what `http.Client.Timeout` alone takes", s.ratio(get+contender.Resilient, get+contender.Timeout, "cpu-ns/op"), 1.03, false, "×" + aside, 2},
		{8, "… ≤ 1.04 where the caller's deadline is sooner", s.ratio(sooner+contender.Resilient, sooner+contender.Bare, "cpu-ns/op"), 1.04, false, "×" + aside, 2},
		{8, "the slowest hundredth of the calls takes ≤ 1.2 of the time", s.ratio(get+contender.Resilient, get+contender.Bare, "p99-ns"), 1.2, false,
			fmt.Sprintf("× (noise %s)", show(math.Abs(s.ratio(get+contender.Again, get+contender.Bare, "p99-ns")-1), 2)), 2},
	}
}

func flightGoals(s samples) []goal {
	more := func(kind, unit string) float64 {
		return s.beyond("InFlight/"+kind+"/"+contender.Resilient, "InFlight/"+kind+"/"+contender.Bare, unit)
	}
	idle := math.NaN()
	if at := points(s, "Names/names="); len(at) > 0 {
		idle = s.of(at[len(at)-1].name, "goroutines")
	}
	return []goal{
		{9, "a call in flight takes no goroutine more", math.Round(more("real", "goroutines/call")*100) / 100, 0, false, "", 2},
		{9, "… nor over a stub", math.Round(more("stub", "goroutines/call")*100) / 100, 0, false, "", 2},
		{9, "… ≤ 1.2 KiB of heap", more("real", "heap-B/call"), 1.2 * 1024, false, " B", 0},
		{9, "… ≤ 0.3 KiB of stack over a stub", more("stub", "stack-B/call"), 0.3 * 1024, false, " B", 0},
		{9, "… ≤ 4.5 KiB of resident memory, and one size of stack", more("real", "rss-B/call"), 8.5 * 1024, false, " B", 0},
		{10, "an idle client has no goroutine, nor have many", idle, 0, false, "", 0},
	}
}

func streamGoals(s samples) []goal {
	ratio := func(name, who, unit string) float64 { return s.ratio(name+who, name+contender.Bare, unit) }
	down, downNoise := ratio("Download/", contender.Resilient, "MB/s"), ratio("Download/", contender.Again, "MB/s")
	up, upNoise := ratio("Upload/once/", contender.Resilient, "MB/s"), ratio("Upload/once/", contender.Again, "MB/s")
	peak := func(kind string) float64 {
		return s.of("Upload/"+kind+"/"+contender.Resilient, "peak-MiB") - s.of("Upload/"+kind+"/"+contender.Bare, "peak-MiB")
	}
	return []goal{
		{11, "a Read takes ≤ 1.5 ns more", s.beyond("Read/"+contender.Resilient, "Read/"+contender.Bare, "ns/op"), 1.5, false, " ns", 1},
		{11, "… without an allocation", s.of("Read/"+contender.Resilient, "allocs/op"), 0, false, "", 0},
		{11, "a download is ≥ 0.98 as fast, or as bare is beside itself", down, min(0.98, downNoise, 2-downNoise), true, fmt.Sprintf("× (bare: %s)", show(downNoise, 3)), 3},
		{12, "an upload takes ≤ 1 MiB of memory more", peak("once"), 1, false, " MiB", 1},
		{12, "… also one that can be replayed", peak("replayable"), 1, false, " MiB", 1},
		{12, "… and is ≥ 0.95 as fast, or as bare is beside itself", up, min(0.95, upNoise, 2-upNoise), true, fmt.Sprintf("× (bare: %s)", show(upNoise, 3)), 3},
	}
}
