package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A scenario is a fleet, what happens to its dependency, and the policies that are compared.
type scenario struct {
	name     string
	fleet    fleet
	trouble  trouble
	length   time.Duration
	seed     uint64
	policies []policy
	table    func([]figures) string
}

// A minute of trouble comes after half a minute of peace, in which windows fill up, and is followed by two of peace.
const (
	troubleFrom = 30 * time.Second
	troubleTo   = 90 * time.Second
	playFor     = 210 * time.Second
)

// big is a fleet of some processes with much to do each.
func big() fleet { return fleet{clients: 20, rate: 10} }

// scenarios are all that are played. Each is played with the same calls for all policies.
func scenarios() []scenario {
	return []scenario{
		outage(big()),
		dip(big()),
		hang(big()),
	}
}

// outage: the dependency is down. Something in front of it answers 502 at once.
func outage(f fleet) scenario {
	return minute("outage", f, trouble{share: 1, fails: 1})
}

// dip: the dependency loses two fifths of its capacity, so that it can't do all the work that there is.
func dip(f fleet) scenario {
	return minute("dip", f, trouble{share: 0.6})
}

// hang: the dependency takes requests and never answers them.
func hang(f fleet) scenario {
	return minute("hang", f, trouble{share: 1, hangs: true})
}

func minute(name string, f fleet, t trouble) scenario {
	t.from, t.to = troubleFrom, troubleTo
	return scenario{name: name, fleet: f, trouble: t, length: playFor, seed: 1, policies: policies(), table: troubleTable}
}

// A result is what came of a scenario: a record for each policy.
type result struct {
	scenario scenario
	records  []*record
}

// playAll plays scenarios, as many policies at a time as there are processors.
func playAll(t *testing.T, all []scenario) []result {
	results := make([]result, len(all))
	t.Run("play", func(t *testing.T) {
		for i, s := range all {
			results[i] = result{s, make([]*record, len(s.policies))}
			for j, p := range s.policies {
				t.Run(s.name+"/"+p.name, func(t *testing.T) {
					t.Parallel()
					results[i].records[j] = s.play(t, p)
					fmt.Printf("%-10s %s\n", s.name, p.name)
				})
			}
		}
	})
	return results
}

// play plays the scenario with one policy, in a bubble with its own time.
func (s scenario) play(t *testing.T, p policy) (r *record) {
	synctest.Test(t, func(t *testing.T) {
		r = s.fleet.play(t, p, s)
	})
	return r
}

// table has a row for each policy.
func (r result) table() string {
	rows := make([]figures, len(r.records))
	for i, record := range r.records {
		rows[i] = newFigures(r.scenario, r.scenario.policies[i].name, record)
	}
	return r.scenario.table(rows)
}
