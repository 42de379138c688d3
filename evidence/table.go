package main

import (
	"bytes"
	"fmt"
	"strings"
)

// tables are those of the page, by the names in its marks.
func tables() map[string]func(results) string {
	all := map[string]func(results) string{"floor": floorTable}
	for _, name := range []string{"outage", "dip", "hang", "quiet"} {
		all[name] = func(r results) string { return troubleTable(r[name].figures()) }
	}
	for _, name := range []string{"chance85", "item85", "item96"} {
		all[name] = func(r results) string { return lastingTable(r[name].figures()) }
	}
	return all
}

// troubleTable is for trouble that passes.
func troubleTable(rows []figures) string {
	var b strings.Builder
	b.WriteString("| client | attempts a call in the trouble | busiest 3 s, of normal | success in the trouble | success after it | back after |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %s | %.2f | %.1f × | %s | %s | %s |\n",
			f.policy, f.amplification, f.peak, percent(f.during), percent(f.after), f.back())
	}
	return b.String()
}

// lastingTable is for trouble that does not.
func lastingTable(rows []figures) string {
	var b strings.Builder
	b.WriteString("| client | success | attempts a call | 99 of 100 successes within |\n")
	b.WriteString("| --- | ---: | ---: | ---: |\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f s |\n", f.policy, percent(f.during), f.amplification, f.within.Seconds())
	}
	return b.String()
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func (f figures) back() string {
	if f.recovery == never {
		return "**never**"
	}
	return fmt.Sprintf("%.0f s", f.recovery.Seconds())
}

// replace puts a table between the marks of the page that name it.
func replace(page []byte, name, table string) ([]byte, error) {
	begin, end := []byte("<!-- table "+name+" -->\n"), []byte("<!-- end of "+name+" -->\n")
	before, rest, ok := bytes.Cut(page, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("the page has no place for the table %q", name)
	}
	return bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil), nil
}
