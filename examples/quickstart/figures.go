package main

import (
	"math"
	"time"
)

// figures are what the table shows of one contender. Shares of calls are 0 to 1, and NaN if there was no call.
type figures struct {
	name                  string
	calls                 int
	attempts              int // that its dependency saw
	before, during, after float64
	last                  float64       // in the last seconds of the run
	recovery              time.Duration // after the brown-out; never if it did not recover
}

// never is the recovery of a contender that did not.
const never time.Duration = math.MaxInt64

func (f figures) amplification() float64 { return float64(f.attempts) / float64(f.calls) }

func newFigures(name string, outcomes []outcome, attempts int) figures {
	return figures{
		name:     name,
		calls:    len(outcomes),
		attempts: attempts,
		before:   success(outcomes, 0, healthyFor),
		during:   success(outcomes, healthyFor, healthyFor+brownoutFor),
		after:    success(outcomes, healthyFor+brownoutFor, runFor),
		last:     success(outcomes, runFor-lastFor, runFor),
		recovery: recovery(outcomes),
	}
}

// success is the share of successes among the calls that began in a span of time; to is not in it.
func success(outcomes []outcome, from, to time.Duration) float64 {
	calls, successes := 0, 0
	for _, o := range outcomes {
		if o.began < from || o.began >= to {
			continue
		}
		calls++
		if o.ok {
			successes++
		}
	}
	return float64(successes) / float64(calls)
}

// recovery is how long after the brown-out the half second began from which on nine of ten calls succeeded.
func recovery(outcomes []outcome) time.Duration {
	const step, enough = 500 * time.Millisecond, 0.9
	end := healthyFor + brownoutFor
	for at := end; at < runFor; at += step {
		if success(outcomes, at, at+step) >= enough && success(outcomes, at, runFor) >= enough {
			return at - end
		}
	}
	return never
}
