package report

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// section begins a part of the results.
func section(b *bytes.Buffer, title, text string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", title, text)
}

// header is the head of a table.
func header(b *bytes.Buffer, columns ...string) {
	row(b, columns...)
	fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(columns)))
}

func row(b *bytes.Buffer, cells ...string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// show is a number with so many decimals; what was not measured is a dash.
func show(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if v = math.Round(v*math.Pow10(decimals)) / math.Pow10(decimals); v == 0 {
		v = 0 // and not -0
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// signed is a difference.
func signed(v float64, decimals int) string {
	text := show(v, decimals)
	if v > 0 && text != "–" {
		return "+" + text
	}
	return text
}

// size is in bytes, KiB or MiB.
func size(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 1<<20:
		return show(v/(1<<20), 2) + " MiB"
	case math.Abs(v) >= 10<<10:
		return show(v/(1<<10), 1) + " KiB"
	}
	return show(v, 0) + " B"
}
