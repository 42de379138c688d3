package report

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// growth are the tables of what comes in several sizes. A curve that is flat says that nothing depends on the size.
func growth(b *bytes.Buffer, s samples) {
	section(b, "Growth: names", "So many clients of different names in one registry.")
	curve(b, s, "Names/names=", "names", []column{{"B/name", "memory a name"}, {"goroutines", "goroutines, in all"},
		{"ns/build", "ns to build one more client"}, {"ns/call", "ns a call"}})
	section(b, "Growth: authorities", "One client with `PerAuthority` calls so many hosts, each once. State is kept for 1,024 of them.")
	curve(b, s, "Authorities/authorities=", "authorities", []column{{"B/client", "memory of the client"},
		{"ns/first-call", "ns a call to a new one"}, {"ns/call", "ns a call to a known one"}})
	section(b, "Growth: calls in flight", "Over a transport that waits; more than without the library.")
	curve(b, s, "Flight/calls=", "calls", []column{{"goroutines/call", "goroutines a call"}, {"heap-B/call", "heap a call"}})
	for _, rate := range rates(s) {
		section(b, "Growth: an hour", "On a clock of its own, one client makes "+rate+" calls a second for an hour. "+
			"Every twentieth answer is a 503 and is retried within the budget.")
		curve(b, s, "Hour/calls="+rate+"/minute=", "minute", []column{{"ns/call", "ns a call"}, {"heap-B", "memory in use"}})
	}
}

type column struct{ unit, title string }

// curve is a table with a line for each size.
func curve(b *bytes.Buffer, s samples, prefix, what string, columns []column) {
	titles := []string{what}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	header(b, titles...)
	for _, at := range points(s, prefix) {
		cells := []string{strings.TrimLeft(at.text, "0")}
		for _, c := range columns {
			v := s.of(at.name, c.unit)
			if strings.HasPrefix(c.unit, "B/") || strings.Contains(c.unit, "heap-B") {
				cells = append(cells, size(v))
			} else {
				cells = append(cells, show(v, 0))
			}
		}
		row(b, cells...)
	}
}

type point struct{ name, text string }

// points are the sizes that were measured, in their order.
func points(s samples, prefix string) []point {
	var all []point
	for _, name := range s.names(regexp.QuoteMeta(prefix) + `[0-9]+(-[0-9]+)?`) {
		text, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		all = append(all, point{name, text})
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(number(a.text), number(b.text)) })
	return all
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// rates are at how many calls a second an hour was played.
func rates(s samples) []string {
	var all []string
	for _, name := range s.names(`Hour/calls=.*`) {
		rate, _, _ := strings.Cut(strings.TrimPrefix(name, "Hour/calls="), "/")
		if !slices.Contains(all, rate) {
			all = append(all, rate)
		}
	}
	return all
}
