package httptestx

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Dist is a distribution of delays, for [Latency]: [Fixed], [Uniform],
// [LogNormal] or [Quantiles]. A Dist is a value that can be compared and printed.
// The zero Dist is invalid.
type Dist struct {
	kind    distKind
	from    time.Duration // the delay of Fixed, the least of Uniform, the median of LogNormal
	to      time.Duration // the most of Uniform, the 99th percentile of LogNormal
	points  [maxQuantiles]Quantile
	n       int // of the points
	invalid string
}

// distKind is which of the distributions a Dist is.
type distKind uint8

const (
	distNone distKind = iota
	distFixed
	distUniform
	distLogNormal
	distQuantiles
)

// Latency waits as [Delay] does, for a time that is drawn from d for each
// request: by the seed, the rule, the value of [Rule.Per], and the number of
// requests that the rule applied to. The same request waits the same in every run with
// the same seed, however many run at the same time. [Exchange.Latency] tells what was
// drawn.
func Latency(d Dist) Step {
	if d.invalid != "" {
		return invalid("latency(%s)", d.invalid)
	}
	if d.kind == distNone {
		return invalid("latency(zero Dist)")
	}
	return Step{op: opLatency, dist: d}
}

// Fixed is always d, zero or more. Latency(Fixed(d)) waits as Delay(d) does.
func Fixed(d time.Duration) Dist {
	if d < 0 {
		return invalidDist("fixed(%v): negative", d)
	}
	return Dist{kind: distFixed, from: d}
}

// Uniform is each duration from least to most with the same probability; both are
// zero or more.
func Uniform(least, most time.Duration) Dist {
	if least < 0 || most < least {
		return invalidDist("uniform(%v, %v): want 0 <= least <= most", least, most)
	}
	return Dist{kind: distUniform, from: least, to: most}
}

// LogNormal has a short body and a long tail, as latencies of real servers have:
// half of the requests take at most the median, and 99 of 100 at most p99. There is no
// longest; one of a million takes about (p99/median)^2 times the median. The delays are
// whole microseconds. The median is above zero, p99 at least the median.
func LogNormal(median, p99 time.Duration) Dist {
	if median <= 0 || p99 < median {
		return invalidDist("lognormal(%v, p99 %v): want 0 < median <= p99", median, p99)
	}
	return Dist{kind: distLogNormal, from: median, to: p99}
}

func invalidDist(format string, args ...any) Dist {
	return Dist{invalid: fmt.Sprintf(format, args...)}
}

// String returns the distribution as the time-line shows it: "uniform(1ms, 5ms)".
func (d Dist) String() string {
	switch d.kind {
	case distFixed:
		return fmt.Sprintf("fixed(%v)", d.from)
	case distUniform:
		return fmt.Sprintf("uniform(%v, %v)", d.from, d.to)
	case distLogNormal:
		return fmt.Sprintf("lognormal(%v, p99 %v)", d.from, d.to)
	case distQuantiles:
		words := make([]string, d.n)
		for i, q := range d.points[:d.n] {
			words[i] = q.String()
		}
		return fmt.Sprintf("quantiles(%s)", strings.Join(words, ", "))
	}
	return "zero Dist"
}

// pick returns the delay of one request.
func (d Dist) pick(by draw) time.Duration {
	switch d.kind {
	case distUniform:
		return d.from + time.Duration(by.chance()*(float64(d.to-d.from)+1))
	case distLogNormal:
		return d.logNormal(by.chance())
	case distQuantiles:
		return d.quantile(by)
	}
	return d.from
}

// z99 is the 99th percentile of the normal distribution with mean 0 and deviation 1.
const z99 = 2.3263478740408408

// logNormal inverts the distribution at u, in [0, 1). Half a step of chance is
// added, so that zero, whose delay would be none, does not occur. Whole
// microseconds hide the last bits, in which processors differ.
func (d Dist) logNormal(u float64) time.Duration {
	sigma := math.Log(float64(d.to)/float64(d.from)) / z99
	z := math.Sqrt2 * math.Erfinv(2*(u+1.0/(1<<54))-1)
	ns := min(float64(d.from)*math.Exp(sigma*z), math.MaxInt64/2) // some 146 years are enough
	return time.Duration(ns).Round(time.Microsecond)
}
