package httptestx

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/matryer/is"
)

// drawn returns n draws of a distribution, by count.
func drawn(d Dist, n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = d.pick(draw{seed: 1, count: i + 1, step: 1})
	}
	return list
}

// share returns which part of the list is at most d.
func share(list []time.Duration, d time.Duration) float64 {
	n := 0
	for _, x := range list {
		if x <= d {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

// near allows four standard deviations of a share p in n draws; the seed is fixed, so
// it holds always or never.
func near(got, p, n float64) bool {
	return math.Abs(got-p) <= 4*math.Sqrt(p*(1-p)/n)
}

func TestUniformCoversItsRange(t *testing.T) {
	is := is.New(t)
	list := drawn(Uniform(10, 19), 100_000)
	for d := time.Duration(9); d < 20; d++ {
		is.True(near(share(list, d), float64(d-9)/10, 100_000)) // each of the ten values with the same share, the ends included
	}
	for _, d := range drawn(Uniform(0, math.MaxInt64), 1000) {
		is.True(d >= 0) // also where the range is all there is
	}
	is.Equal(drawn(Uniform(5, 5), 3), []time.Duration{5, 5, 5}) // a range of one
}

func TestLogNormalHasItsMedianAndP99(t *testing.T) {
	is := is.New(t)
	list := drawn(LogNormal(80*time.Millisecond, 2*time.Second), 100_000)
	is.True(near(share(list, 80*time.Millisecond), 0.5, 100_000)) // the median
	is.True(near(share(list, 2*time.Second), 0.99, 100_000))      // the 99th percentile
	// By symmetry of the logarithm the first percentile is median^2/p99.
	is.True(near(share(list, 3200*time.Microsecond), 0.01, 100_000))
	for _, d := range list {
		is.True(d > 0)                         // there is no request without latency
		is.Equal(d, d.Round(time.Microsecond)) // the same on all processors
	}
	is.True(LogNormal(80*time.Millisecond, 2*time.Second).logNormal(0) > 0)                            // nor at the very edge
	is.Equal(drawn(LogNormal(time.Second, time.Second), 2), []time.Duration{time.Second, time.Second}) // no spread
	for _, d := range drawn(LogNormal(1, math.MaxInt64), 1000) {
		is.True(d >= 0) // no overflow
	}
}

// TestQuantilesAreExact takes rounds of each length, in which the shares must be
// right to the request, and in each round others must be slow.
func TestQuantilesAreExact(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		dist   Dist
		length int
		want   map[time.Duration]int // in one round
	}{
		{Quantiles(Quantile{0.5, 20 * ms}, Quantile{0.99, 200 * ms}, Quantile{1, 2000 * ms}), 100,
			map[time.Duration]int{20 * ms: 50, 200 * ms: 49, 2000 * ms: 1}},
		{Quantiles(Quantile{0.9, ms}, Quantile{1, 5 * ms}), 10, map[time.Duration]int{ms: 9, 5 * ms: 1}},
		{Quantiles(Quantile{0.3333, ms}, Quantile{1, 5 * ms}), 10_000, map[time.Duration]int{ms: 3333, 5 * ms: 6667}},
		{Quantiles(Quantile{0.07, ms}, Quantile{0.29, 2 * ms}, Quantile{1, 5 * ms}), 100, // not exact in binary
			map[time.Duration]int{ms: 7, 2 * ms: 22, 5 * ms: 71}},
		{Quantiles(Quantile{1, ms}), 1, map[time.Duration]int{ms: 1}},
	} {
		is := is.New(t)
		rounds := make(map[string]bool)
		list := drawn(tt.dist, 6*tt.length)
		for len(list) > 0 {
			got := make(map[time.Duration]int)
			for _, d := range list[:tt.length] {
				got[d]++
			}
			is.Equal(got, tt.want) // exact in every round
			rounds[fmt.Sprint(list[:tt.length])] = true
			list = list[tt.length:]
		}
		is.True(tt.length == 1 || len(rounds) > 2) // and each round is in another order
	}
}

func TestShuffleIsAPermutation(t *testing.T) {
	for n := 1; n <= 200; n++ {
		seen := make([]bool, n)
		for i := range n {
			seen[draw{seed: uint64(n)}.shuffle(i, n)] = true
		}
		for i := range n {
			is.New(t).True(seen[i]) // every place is taken once
		}
	}
}

// TestShuffleMovesEachIndexToEachPlace counts, for a small round, how often each
// index goes where.
func TestShuffleMovesEachIndexToEachPlace(t *testing.T) {
	is := is.New(t)
	const n = 10
	var moves [n][n]int
	for round := range 10_000 {
		for i := range n {
			moves[i][draw{seed: 3, count: round}.shuffle(i, n)]++
		}
	}
	for i := range n {
		for j := range n {
			is.True(near(float64(moves[i][j])/10_000, 1.0/n, 10_000)) // all with the same share
		}
	}
}

// TestLatenciesOfOnePlanDifferAndAreNotTheRulesOwnDraw: two steps of the same kind
// draw for themselves, and neither repeats the draw of Prob.
func TestLatenciesOfOnePlanDifferAndAreNotTheRulesOwnDraw(t *testing.T) {
	is := is.New(t)
	d := draw{seed: 1, key: "k", count: 7}
	first, second := d, d
	first.step, second.step = 1, 2
	is.True(first.chance() != second.chance()) // for each step its own
	is.True(first.chance() != d.chance())      // and the rule's decision is another
}

func TestDistThatCannotBeMeantFailsTheTest(t *testing.T) {
	for want, d := range map[string]Dist{
		"latency(zero Dist)":                                                                    {},
		"latency(fixed(-1ns): negative)":                                                        Fixed(-1),
		"latency(uniform(2s, 1s): want 0 <= least <= most)":                                     Uniform(2*time.Second, time.Second),
		"latency(uniform(-1s, 1s): want 0 <= least <= most)":                                    Uniform(-time.Second, time.Second),
		"latency(lognormal(0s, p99 1s): want 0 < median <= p99)":                                LogNormal(0, time.Second),
		"latency(lognormal(2s, p99 1s): want 0 < median <= p99)":                                LogNormal(2*time.Second, time.Second),
		"latency(quantiles: the last P must be 1, for the longest delay)":                       Quantiles(Quantile{0.5, 1}),
		"latency(quantiles: 9 points, want at most 8)":                                          Quantiles(make([]Quantile, 9)...),
		"latency(quantiles(p50 2s): want D to grow, from 0)":                                    Quantiles(Quantile{0.4, 3 * time.Second}, Quantile{0.5, 2 * time.Second}, Quantile{1, time.Second}),
		"latency(quantiles(p50 2ns): want P to grow, up to 1, with at most four decimals)":      Quantiles(Quantile{0.5, 1}, Quantile{0.5, 2}, Quantile{1, 3}),
		"latency(quantiles(p33.3333 1ns): want P to grow, up to 1, with at most four decimals)": Quantiles(Quantile{1.0 / 3, 1}, Quantile{1, 3}),
		"latency(quantiles(pNaN 1ns): want P to grow, up to 1, with at most four decimals)":     Quantiles(Quantile{math.NaN(), 1}, Quantile{1, 3}),
		"latency(quantiles(p0 1ns): want P to grow, up to 1, with at most four decimals)":       Quantiles(Quantile{0, 1}, Quantile{1, 3}),
	} {
		is.New(t).Equal(fmt.Sprint(check(Plan(Latency(d), Handle), false)), want) // what is wrong with it
	}
}
