package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// lowVolumes are the settings of LowVolumeRetries that are compared; 0 is without.
func lowVolumes() []int { return []int{0, 1, 10} }

// quietPolicies are compared for processes that have little to do.
func quietPolicies() []policy {
	all := []policy{{"bare client", bare}, {"one retry, no budget", ours(oneRetry())}}
	for _, n := range lowVolumes() {
		all = append(all, policy{"Conservative" + withLowVolume(n), ours(lowVolume(start(resilient.Conservative), n))})
	}
	return append(all, policy{"failsafe-go with its budget", failsafe})
}

// floorPolicies are a budget alone, with and without LowVolumeRetries.
func floorPolicies() []policy {
	var all []policy
	for _, n := range lowVolumes() {
		all = append(all, policy{"budget" + withLowVolume(n), ours(lowVolume(oneRetry().Budget(), n))})
	}
	return all
}

func lowVolume(b resilient.Builder, n int) resilient.Builder {
	if n == 0 {
		return b
	}
	return b.Budget(resilient.LowVolumeRetries(n))
}

func withLowVolume(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", `LowVolumeRetries(%d)`", n)
}

// promised is the most attempts for a call that a budget allows to a process with so many calls in its window, if it may
// make one retry a call: the documented rule.
func promised(calls float64, lowVolume int) float64 {
	const ratio, minimum = 0.1, 100 // of Conservative
	share := ratio
	switch {
	case lowVolume > 0:
		share = max(share, float64(lowVolume)/calls)
	case calls < minimum:
		share = math.Inf(1)
	}
	return 1 + min(1, share)
}

// window is that of the budget.
const window = 30 * time.Second

// floorTable has what each setting allows, and what came of it, for each rate.
func floorTable(all results) string {
	var b strings.Builder
	b.WriteString("| calls of a process, a second | in 30 s |")
	for _, n := range lowVolumes() {
		name := "without"
		if n > 0 {
			name = strings.TrimPrefix(withLowVolume(n), ", ")
		}
		fmt.Fprintf(&b, " %s: at most | measured |", name)
	}
	b.WriteString("\n| ---: | ---: |" + strings.Repeat(" ---: | ---: |", len(lowVolumes())) + "\n")
	for _, s := range floors() {
		fmt.Fprintf(&b, "| %g | %.0f |", s.fleet.rate, s.fleet.rate*window.Seconds())
		for i, f := range all[s.name].figures() {
			fmt.Fprintf(&b, " %.2f | %.2f |", promised(f.window, lowVolumes()[i]), f.amplification)
		}
		b.WriteString("\n")
	}
	return b.String()
}
