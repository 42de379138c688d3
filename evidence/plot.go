package main

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/evidence/chart"
)

// plots are those of the page, by the names of their files.
func plots() map[string]func(results) ([]byte, error) {
	return map[string]func(results) ([]byte, error){
		"front": func(all results) ([]byte, error) {
			return timeline(all["dip"], "A dependency loses 40 % of its capacity for one minute: the same calls by three kinds of clients", "minute of trouble",
				"bare client", "naive retries", "Conservative").SVG()
		},
		"outage": func(all results) ([]byte, error) {
			return timeline(all["outage"], "A hard outage: everything is answered 502", "outage", names(policies())...).SVG()
		},
		"dip": func(all results) ([]byte, error) {
			return timeline(all["dip"], "A dip: 60 % of the capacity is left", "dip", names(policies())...).SVG()
		},
		"hang": func(all results) ([]byte, error) {
			return timeline(all["hang"], "A hang: nothing is answered", "hang", names(policies())...).SVG()
		},
		"quiet": func(all results) ([]byte, error) {
			return timeline(all["quiet"], "The dip, with 200 processes of one call a second", "dip", names(quietPolicies())...).SVG()
		},
		"available": func(all results) ([]byte, error) { return available(all).SVG() },
		"floor":     func(all results) ([]byte, error) { return floorPlot(all).SVG() },
	}
}

func names(all []policy) []string {
	var list []string
	for _, p := range all {
		list = append(list, p.name)
	}
	return list
}

// plain is a name without the marks of code.
func plain(name string) string { return strings.ReplaceAll(name, "`", "") }

// look is how a policy is drawn.
func look(policy string) (c color.Color, bold bool) {
	colors := map[string]color.RGBA{
		"bare client":                 {0x8b, 0x8f, 0x98, 0xff},
		"naive retries":               {0xe5, 0x48, 0x4d, 0xff},
		"one retry, no budget":        {0xe8, 0x83, 0x3a, 0xff},
		"one retry, with a budget":    {0x12, 0xa5, 0x94, 0xff},
		"Standard":                    {0x8e, 0x6c, 0xd8, 0xff},
		"Conservative":                {0x2f, 0x7d, 0xe1, 0xff},
		"failsafe-go with its budget": {0xa8, 0x8a, 0x1c, 0xff},
		"go-retryablehttp":            {0xd6, 0x40, 0x9f, 0xff},

		"Conservative" + withLowVolume(1):  {0x12, 0xa5, 0x94, 0xff},
		"Conservative" + withLowVolume(10): {0x8e, 0x6c, 0xd8, 0xff},
	}
	return colors[policy], policy == "Conservative"
}

// bin is how long a point of a time line stands for.
const bin = 3 * time.Second

// timeline shows the load on the dependency, and how many calls succeed, over time.
func timeline(r result, title, trouble string, policies ...string) chart.Lines {
	load, success := r.capacity(), []chart.Series{}
	for i, p := range r.scenario.policies {
		if !slices.Contains(policies, p.name) {
			continue
		}
		color, bold := look(p.name)
		x, attempts, share := r.records[i].overTime(r.scenario.length)
		load = append(load, chart.Series{Name: plain(p.name), Color: color, Bold: bold, X: x, Y: attempts})
		success = append(success, chart.Series{Name: plain(p.name), Color: color, Bold: bold, X: x, Y: share})
	}
	s := r.scenario
	return chart.Lines{
		Title: title,
		X:     chart.Axis{Label: "time (s)", Max: s.length.Seconds(), Ticks: steps(0, s.length.Seconds(), 30)},
		Panels: []chart.Panel{
			{Y: chart.Axis{Label: "load (requests a second)", Max: 1250, Ticks: steps(0, 1200, 200)}, Series: load},
			{Y: chart.Axis{Label: "calls that succeed (%)", Max: 103, Ticks: steps(0, 100, 25)}, Series: success},
		},
		Shaded: chart.Shade{From: s.trouble.from.Seconds(), To: s.trouble.to.Seconds(), Text: trouble},
		Height: 330,
	}
}

// overTime has the attempts a second, and the share of the calls that succeed, in percent, by when they began.
func (r *record) overTime(length time.Duration) (x, attempts, success []float64) {
	for at := time.Duration(0); at < length; at += bin {
		s := span{at, at + bin}
		x = append(x, (at + bin/2).Seconds())
		attempts = append(attempts, float64(r.attempts(s))/bin.Seconds())
		success = append(success, 100*r.success(s))
	}
	return x, attempts, success
}

// capacity is what the dependency can do over time.
func (r result) capacity() []chart.Series {
	s := r.scenario
	most := headroom * s.fleet.load()
	low := most * s.trouble.share
	from, to := s.trouble.from.Seconds(), s.trouble.to.Seconds()
	return []chart.Series{{
		Name: "capacity", Dashed: true, Color: color.RGBA{0x7d, 0x85, 0x90, 0xff},
		X: []float64{0, from, from, to, to, s.length.Seconds()},
		Y: []float64{most, most, low, low, most, most},
	}}
}

func steps(from, to, by float64) []float64 {
	var all []float64
	for v := from; v <= to; v += by {
		all = append(all, v)
	}
	return all
}

// available shows what callers get of a dependency that fails some requests for good.
func available(all results) chart.Bars {
	b := chart.Bars{Title: "Calls that succeed (%)", Rows: names(policies())}
	for _, name := range b.Rows {
		c, _ := look(name)
		b.Colors = append(b.Colors, c)
	}
	for _, c := range []struct{ name, title string }{
		{"chance85", "15 % fail, by chance"},
		{"item85", "15 % fail, most again"},
		{"item96", "4 % fail, most again"},
	} {
		column := chart.Column{Title: c.title, Max: 100, Format: "%.1f"}
		for _, f := range all[c.name].figures() {
			column.Values = append(column.Values, 100*f.during)
		}
		b.Columns = append(b.Columns, column)
	}
	return b
}

// floorPlot shows what a budget allows to processes of all sizes, as lines, and what they did, as dots.
func floorPlot(all results) chart.Lines {
	colors := []color.RGBA{{0x2f, 0x7d, 0xe1, 0xff}, {0x12, 0xa5, 0x94, 0xff}, {0x8e, 0x6c, 0xd8, 0xff}}
	var series []chart.Series
	for i, n := range lowVolumes() {
		name := "without LowVolumeRetries"
		if n > 0 {
			name = fmt.Sprintf("LowVolumeRetries(%d)", n)
		}
		line := chart.Series{Name: name, Color: colors[i]}
		for rate := 0.1; rate <= 10; rate *= 1.02 {
			line.X = append(line.X, rate)
			line.Y = append(line.Y, promised(rate*window.Seconds(), n))
		}
		dots := chart.Series{Color: colors[i], Dots: true}
		for _, s := range floors() {
			dots.X = append(dots.X, s.fleet.rate)
			dots.Y = append(dots.Y, all[s.name].figures()[i].amplification)
		}
		series = append(series, line, dots)
	}
	return chart.Lines{
		Title:  "A hard outage: attempts for each call, promised at most (lines) and measured (dots)",
		X:      chart.Axis{Label: "calls of each process (a second)", Min: 0.09, Max: 11, Log: true, Ticks: []float64{0.1, 0.3, 1, 3, 10}},
		Panels: []chart.Panel{{Y: chart.Axis{Label: "attempts a call", Min: 1, Max: 2.05, Ticks: steps(1, 2, 0.25)}, Series: series}},
		Height: 220,
	}
}
