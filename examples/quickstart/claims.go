package main

import (
	"fmt"
	"io"
)

// A claim is a sentence about the run that holds or does not, with the figures that show it.
type claim struct {
	text    string
	figures string
	holds   bool
}

// brownoutClaims are about the first part. The limits leave room for a machine that has other things to do.
func brownoutClaims(all []figures) []claim {
	of := make(map[string]figures)
	for _, f := range all {
		of[f.name] = f
	}
	b, n, c := of[bare], of[naive], of[conservative]
	return []claim{
		{
			"the bare client gets 90 % or more at the end: the dependency can do its work again",
			percent(b.last), b.last >= 0.9,
		},
		{
			"naive retries send 2 attempts or more for each call",
			times(n.amplification()), n.amplification() >= 2,
		},
		{
			"naive retries get at least 30 points less than Conservative at the end",
			percent(n.last) + " and " + percent(c.last), c.last-n.last >= 0.3,
		},
		{
			"Conservative sends at most 1.2 attempts for each call",
			times(c.amplification()), c.amplification() <= 1.2,
		},
		{
			"Conservative gets 90 % or more at the end",
			percent(c.last), c.last >= 0.9,
		},
	}
}

// orderClaims are about the second part: naive retries, Conservative, Conservative with keys.
func orderClaims(p []purchase) []claim {
	return []claim{
		{"naive retries order twice", orders(p[0]), p[0].orders == 2},
		{"Conservative orders once, and says that it does not know", orders(p[1]), p[1].orders == 1 && !p[1].ok},
		{"Conservative with keys orders once, and knows", orders(p[2]), p[2].orders == 1 && p[2].ok},
	}
}

func orders(p purchase) string { return fmt.Sprintf("orders: %d", p.orders) }

// verdict prints the claims and returns the exit code of the program: 0 if all hold.
func verdict(w io.Writer, claims []claim) (code int) {
	for _, c := range claims {
		word := "ok    "
		if !c.holds {
			word, code = "FAILED", 1
		}
		fmt.Fprintf(w, "%s  %s (%s)\n", word, c.text, c.figures)
	}
	return code
}
