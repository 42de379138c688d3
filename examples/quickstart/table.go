package main

import (
	"fmt"
	"io"
	"math"
)

// printFigures prints a line for each contender.
func printFigures(w io.Writer, all []figures) {
	const row = "%-13s %5s %8s %8s  %6s %6s %6s %8s  %9s\n"
	fmt.Fprintf(w, row, "", "", "attempts", "attempts", "success", "", "", "", "recovered")
	fmt.Fprintf(w, row, "", "calls", "arrived", "per call", "before", "during", "after",
		fmt.Sprintf("last %.0f s", lastFor.Seconds()), "after")
	for _, f := range all {
		fmt.Fprintf(w, row, f.name, fmt.Sprint(f.calls), fmt.Sprint(f.attempts), times(f.amplification()),
			percent(f.before), percent(f.during), percent(f.after), percent(f.last), f.recovered())
	}
}

// printPurchases prints a line for each purchase.
func printPurchases(w io.Writer, all []purchase) {
	const row = "%-22s %8s %6s  %s\n"
	fmt.Fprintf(w, row, "", "requests", "orders", "what the caller got")
	for _, p := range all {
		fmt.Fprintf(w, row, p.buyer, fmt.Sprint(p.requests), fmt.Sprint(p.orders), p.answer)
	}
}

// percent prints a share, rounded down: 100 % is all.
func percent(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", math.Floor(share*100))
}

func times(amplification float64) string { return fmt.Sprintf("%.2f", amplification) }

func (f figures) recovered() string {
	if f.recovery == never {
		return "never"
	}
	return fmt.Sprintf("%.1f s", f.recovery.Seconds())
}
