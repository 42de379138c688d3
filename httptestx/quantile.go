package httptestx

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Quantile is a point of [Quantiles]: the share P of the requests, above 0 and
// up to 1, takes at most D.
type Quantile struct {
	P float64       // 0.99 for the 99th percentile; at most four decimals
	D time.Duration // zero or more
}

// maxQuantiles keeps a Dist comparable: its points are an array.
const maxQuantiles = 8

// quantileUnit is the finest share, one of ten thousand.
const quantileUnit = 10_000

// Quantiles gives exact shares of the requests exact delays, rather than likely ones:
//
//	Quantiles(Quantile{0.5, 20 * time.Millisecond}, Quantile{0.99, 200 * time.Millisecond}, Quantile{1, 2 * time.Second})
//
// makes 50 of each 100 requests take 20 ms, 49 take 200 ms and one 2 s. A test
// that sends a multiple of 100 requests has these shares to the request; which
// ones are slow is decided by the seed, for each 100 anew.
//
// P and D grow from point to point, up to 8 of them, and the last P is 1. The
// requests are counted as for [Latency], so with [Rule.Per] the shares hold for each
// value. The length of a round is the least number of requests for which all shares
// are whole, at most 10,000.
func Quantiles(points ...Quantile) Dist {
	d := Dist{kind: distQuantiles, n: len(points)}
	if len(points) > maxQuantiles {
		return invalidDist("quantiles: %d points, want at most %d", len(points), maxQuantiles)
	}
	if len(points) == 0 || points[len(points)-1].P != 1 {
		return invalidDist("quantiles: the last P must be 1, for the longest delay")
	}
	before := Quantile{}
	for i, q := range points {
		units := math.Round(q.P * quantileUnit)
		switch {
		case !(q.P > before.P) || q.P > 1 || math.Abs(units-q.P*quantileUnit) > 1e-6: // NaN is not above anything
			return invalidDist("quantiles(%v): want P to grow, up to 1, with at most four decimals", q)
		case q.D < before.D:
			return invalidDist("quantiles(%v): want D to grow, from 0", q)
		}
		before = q
		d.points[i] = q
	}
	return d
}

// String returns the point as in "p99 200ms".
func (q Quantile) String() string {
	return fmt.Sprintf("p%s %v", strconv.FormatFloat(math.Round(q.P*1e6)/1e4, 'f', -1, 64), q.D)
}

// units is P in whole units, which it is up to the rounding of binary fractions.
func (q Quantile) units() int { return int(math.Round(q.P * quantileUnit)) }

// quantile gives the requests of a round the places of a shuffled round, and each
// place its delay.
func (d Dist) quantile(by draw) time.Duration {
	unit := quantileUnit
	for _, q := range d.points[:d.n] {
		unit = gcd(unit, q.units())
	}
	length := quantileUnit / unit
	index := by.count - 1
	by.count = index / length // the round, which is shuffled as a whole
	place := by.shuffle(index%length, length)
	for _, q := range d.points[:d.n] {
		if place < q.units()/unit {
			return q.D
		}
	}
	return d.points[d.n-1].D // not reached: the last share is the whole
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shuffle returns the place of i in a permutation of 0 to n-1 that the draw
// decides. This is the swap-or-not shuffle (Hoang, Morris and Rogaway, CRYPTO
// 2012): it needs no memory, so nothing is shared between requests.
func (d draw) shuffle(i, n int) int {
	const rounds = 32 // no cipher is needed: each index must come to each place as often
	base := d.hash()
	for round := range uint64(rounds) {
		key := mix(base + round)
		partner := (int(key%uint64(n)) - i + n) % n
		if mix(key+uint64(max(i, partner)))&1 == 1 {
			i = partner
		}
	}
	return i
}
