package main

import "time"

// What is done to each dependency. It is a small model of an outage that has been seen often: for a while the
// dependency does half of what is asked of it. The load is well below what it can do otherwise.
const (
	rate     = 120 // calls a second
	capacity = 200 // requests a second that a healthy dependency can do
	degraded = 60  // and in the brown-out

	healthyFor  = 2 * time.Second
	brownoutFor = 3 * time.Second
	afterFor    = 6 * time.Second
	runFor      = healthyFor + brownoutFor + afterFor

	// lastFor is the end of the run, in which a client that recovers should have done so.
	lastFor = 2 * time.Second
)

// A phase is a part of the run.
type phase string

const (
	before phase = "healthy"
	during phase = "brown-out"
	after  phase = "healthy again"
)

// phaseAt returns the phase at a time since the start of the run.
func phaseAt(t time.Duration) phase {
	switch {
	case t < healthyFor:
		return before
	case t < healthyFor+brownoutFor:
		return during
	default:
		return after
	}
}

// serviceTime is how long the dependency works on a request that arrives at a time since the start of the run.
func serviceTime(t time.Duration) time.Duration {
	if phaseAt(t) == during {
		return time.Second / degraded
	}
	return time.Second / capacity
}
