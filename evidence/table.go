package main

import (
	"bytes"
	"fmt"
	"strings"
)

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

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func (f figures) back() string {
	if f.recovery == never {
		return "**never**"
	}
	return fmt.Sprintf("%.0f s", f.recovery.Seconds())
}

// replace puts a table between the lines of the page that name it.
func replace(page []byte, name, table string) ([]byte, error) {
	begin, end := []byte("<!-- table "+name+" -->\n"), []byte("<!-- end of "+name+" -->\n")
	before, rest, ok := bytes.Cut(page, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("the page has no place for the table %q", name)
	}
	return bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil), nil
}
