package main

import (
	"math"
	"time"
)

// figures are what a table shows of one policy. Shares are 0 to 1.
type figures struct {
	policy        string
	window        float64       // calls of a process in 30 s of the trouble
	amplification float64       // attempts for each call in the trouble
	peak          float64       // attempts in the busiest three seconds, as a multiple of the calls that there are
	during, after float64       // success of the calls in the trouble, and after it
	recovery      time.Duration // after the trouble; never if it did not come
	within        time.Duration // 99 of 100 successful calls in the trouble took no longer
}

// never is a recovery that did not come while there was time.
const never time.Duration = math.MaxInt64

func newFigures(s scenario, policy string, r *record) figures {
	in := span{s.trouble.from, s.trouble.to}
	calls, _ := r.calls(in)
	return figures{
		policy:        policy,
		window:        float64(calls) / float64(s.fleet.clients) * window.Seconds() / (in.to - in.from).Seconds(),
		amplification: float64(r.attempts(in)) / float64(calls),
		peak:          r.peak(s.length) / s.fleet.load(),
		during:        r.success(in),
		after:         r.success(span{in.to, s.length}),
		recovery:      r.recovery(in.to, s.length),
		within:        r.within(in),
	}
}

// peak is the attempts a second in the busiest three seconds.
func (r *record) peak(length time.Duration) float64 {
	const width = 3
	most := 0
	counts := r.perSecond(length)
	for i := range len(counts) - width + 1 {
		sum := 0
		for _, n := range counts[i : i+width] {
			sum += n
		}
		most = max(most, sum)
	}
	return float64(most) / width
}

// perSecond counts the attempts of each second.
func (r *record) perSecond(length time.Duration) []int {
	counts := make([]int, length/time.Second)
	for _, at := range r.arrivals {
		if at < length {
			counts[at/time.Second]++
		}
	}
	return counts
}

// recovery is how long after the trouble the first ten seconds began in which 99 of 100 calls succeeded, and as many in
// the first second of them.
func (r *record) recovery(end, length time.Duration) time.Duration {
	const good, enough = 10 * time.Second, 0.99
	for at := end; at+good <= length; at += time.Second {
		if r.success(span{at, at + time.Second}) >= enough && r.success(span{at, at + good}) >= enough {
			return at - end
		}
	}
	return never
}
