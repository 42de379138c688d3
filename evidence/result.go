package main

import (
	"fmt"
	"testing"
)

// A result is what came of a scenario.
type result struct {
	scenario scenario
	records  []*record // one for each policy
}

// results are by the names of scenarios.
type results map[string]result

// playAll plays scenarios, as many policies at a time as there are processors.
func playAll(t *testing.T, all []scenario) results {
	played := make(results, len(all))
	t.Run("play", func(t *testing.T) {
		for _, s := range all {
			r := result{s, make([]*record, len(s.policies))}
			played[s.name] = r
			for i, p := range s.policies {
				t.Run(s.name+"/"+p.name, func(t *testing.T) {
					t.Parallel()
					r.records[i] = s.play(t, p)
					fmt.Printf("%-10s %s\n", s.name, p.name)
				})
			}
		}
	})
	return played
}

// figures has those of all policies, in order.
func (r result) figures() []figures {
	rows := make([]figures, len(r.records))
	for i, record := range r.records {
		rows[i] = newFigures(r.scenario, r.scenario.policies[i].name, record)
	}
	return rows
}
