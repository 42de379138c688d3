package main

import "time"

// A trouble is what happens to a dependency for some time.
type trouble struct {
	from, to time.Duration
	share    float64 // of its capacity that is left: more than 0, up to 1
	fails    float64 // chance of a request to be answered 502 at once
	lost     float64 // share of the items for which all requests are answered so
	hangs    bool    // requests are taken, and never answered
}

func (t trouble) at(now time.Duration) bool { return now >= t.from && now < t.to }

// done is the work that the dependency could have done by now, if its whole capacity is 1 a second.
func (t trouble) done(now time.Duration) float64 {
	in := min(max(now, t.from), t.to) - t.from
	return now.Seconds() - (1-t.share)*in.Seconds()
}

// until is when it could have done that much: the inverse of done.
func (t trouble) until(work float64) time.Duration {
	var seconds float64
	switch from, to := t.done(t.from), t.done(t.to); {
	case work <= from:
		seconds = work
	case work <= to:
		seconds = t.from.Seconds() + (work-from)/t.share
	default:
		seconds = t.to.Seconds() + work - to
	}
	return time.Duration(seconds * float64(time.Second))
}
