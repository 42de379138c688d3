package httptestx

import (
	"fmt"
	"math"
	"testing"

	"github.com/matryer/is"
)

// TestChanceKeepsItsProbability allows four standard deviations; the seeds are
// fixed, so it passes always or never.
func TestChanceKeepsItsProbability(t *testing.T) {
	const draws = 100_000
	for name, at := range map[string]func(i int) draw{
		"by count": func(i int) draw { return draw{1, 0, "", i, 0} },
		"by key":   func(i int) draw { return draw{1, 0, fmt.Sprint("order-", i), 1, 0} },
		"by seed":  func(i int) draw { return draw{uint64(i), 0, "", 1, 0} },
		"by rule":  func(i int) draw { return draw{1, i, "", 1, 0} },
	} {
		is := is.New(t)
		hits := map[float64]int{0: 0, 0.01: 0, 0.1: 0, 0.5: 0, 0.9: 0, 1: 0}
		for i := range draws {
			chance := at(i).chance()
			for p := range hits {
				if chance < p {
					hits[p]++
				}
			}
		}
		t.Log(name, hits)
		for p, n := range hits {
			is.True(math.Abs(float64(n)-p*draws) <= 4*math.Sqrt(draws*p*(1-p))) // the share of hits is p
		}
	}
}

// TestChanceHasNoMemory: a hit says nothing about the next count.
func TestChanceHasNoMemory(t *testing.T) {
	is := is.New(t)
	const draws, p = 100_000, 0.3
	pairs := 0
	for i := range draws {
		if (draw{7, 0, "", i, 0}).chance() < p && (draw{7, 0, "", i + 1, 0}).chance() < p {
			pairs++
		}
	}
	is.True(math.Abs(float64(pairs)-p*p*draws) < 4*math.Sqrt(draws*p*p)) // as many pairs as by independent draws
}
