package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A scenario is a fleet, what happens to its dependency, and the policies that are compared. All policies get the same
// calls.
type scenario struct {
	name     string
	fleet    fleet
	trouble  trouble
	length   time.Duration
	seed     uint64
	policies []policy
}

// A minute of trouble comes after half a minute of peace, in which windows fill up, and is followed by two of peace.
const (
	troubleFrom = 30 * time.Second
	troubleTo   = 90 * time.Second
	playFor     = 210 * time.Second
)

// scenarios are all that are played for the page.
func scenarios() []scenario {
	all := []scenario{
		outage(big()), dip(big()), hang(big()),
		chance85(big()), item85(big()), item96(big()),
		quiet(),
	}
	return append(all, floors()...)
}

// big is a fleet of some processes with much to do each.
func big() fleet { return fleet{clients: 20, rate: 10} }

// outage: the dependency is down. Something in front of it answers 502 at once.
func outage(f fleet) scenario { return minute("outage", f, trouble{share: 1, fails: 1}) }

// dip: the dependency loses two fifths of its capacity, so that it can't do all the work that there is.
func dip(f fleet) scenario { return minute("dip", f, trouble{share: 0.6}) }

// hang: the dependency takes requests and never answers them.
func hang(f fleet) scenario { return minute("hang", f, trouble{share: 1, hangs: true}) }

func minute(name string, f fleet, t trouble) scenario {
	t.from, t.to = troubleFrom, troubleTo
	return scenario{name: name, fleet: f, trouble: t, length: playFor, seed: 1, policies: policies()}
}

// chance85: of all requests 15 % fail, by chance, and so a retry may well succeed.
func chance85(f fleet) scenario { return lasting("chance85", f, trouble{share: 1, fails: 0.15}) }

// item85: as many fail, but mostly for what they ask for, and so retries fail as well.
func item85(f fleet) scenario {
	return lasting("item85", f, trouble{share: 1, lost: 0.11, fails: 0.045})
}

// item96 is the same with 4 %.
func item96(f fleet) scenario {
	return lasting("item96", f, trouble{share: 1, lost: 0.03, fails: 0.01})
}

// lasting is trouble that does not pass.
func lasting(name string, f fleet, t trouble) scenario {
	t.from, t.to = troubleFrom, playFor
	return scenario{name: name, fleet: f, trouble: t, length: playFor, seed: 1, policies: policies()}
}

// quiet is the dip with the same load, from many processes that have little to do each: too little for a budget and a
// breaker with a minimum.
func quiet() scenario {
	s := dip(fleet{clients: 200, rate: 1})
	s.name, s.policies = "quiet", quietPolicies()
	return s
}

// floors are hard outages for fleets whose processes have ever more to do, at the same load.
func floors() []scenario {
	var all []scenario
	const load = 60
	for _, rate := range []float64{0.1, 0.3, 1, 3, 10} {
		s := outage(fleet{clients: int(load/rate + 0.5), rate: rate})
		s.name, s.policies, s.length = fmt.Sprintf("floor%g", rate), floorPolicies(), troubleTo+10*time.Second
		all = append(all, s)
	}
	return all
}

// play plays the scenario with one policy, in a bubble with its own time.
func (s scenario) play(t *testing.T, p policy) (r *record) {
	synctest.Test(t, func(t *testing.T) { r = s.fleet.play(t, p, s) })
	return r
}
