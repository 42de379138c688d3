package history

import (
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

const (
	// Step is the time that one bucket is for.
	Step = 10 * time.Second
	// Steps is how many buckets are kept, the one of the present among them.
	Steps = 60
)

// Counts is what happened within some time.
type Counts struct {
	Calls     uint32 // that have ended
	Attempts  uint32
	Failed    uint32 // attempts that a retry might have mended
	Permanent uint32 // attempts that none could: an error, or a status of 400 and above
	Retries   uint32 // that were decided on
	TimedOut  uint32 // calls that the total timeout ended
	Left      uint32 // calls whose caller left

	Denied   [pipeline.Reasons]uint32 // retries that were not made
	Rejected [pipeline.Gates]uint32   // calls and attempts that were turned away
	Skipped  [pipeline.Gates]uint32   // attempts that an endpoint did not serve
}

// Add adds what happened at another time.
func (c *Counts) Add(o *Counts) {
	c.Calls += o.Calls
	c.Attempts += o.Attempts
	c.Failed += o.Failed
	c.Permanent += o.Permanent
	c.Retries += o.Retries
	c.TimedOut += o.TimedOut
	c.Left += o.Left
	for i, n := range o.Denied {
		c.Denied[i] += n
	}
	for i, n := range o.Rejected {
		c.Rejected[i] += n
	}
	for i, n := range o.Skipped {
		c.Skipped[i] += n
	}
}

// AllDenied is how many retries were not made, for any reason.
func (c *Counts) AllDenied() (n uint32) {
	for _, d := range c.Denied {
		n += d
	}
	return n
}

// AllRejected is how many calls and attempts were turned away, by any gate.
func (c *Counts) AllRejected() (n uint32) {
	for _, r := range c.Rejected {
		n += r
	}
	return n
}

// A ring is the counts of the last steps. It takes memory when it is counted in for the first time.
type ring struct {
	buckets *[Steps]Counts
	newest  int64 // number of the newest bucket, from 0 at the time 0
}

// at returns the bucket of the time now, after clearing those that time has passed by. A clock that goes back stays at
// the newest.
func (r *ring) at(now time.Duration) *Counts {
	if r.buckets == nil {
		r.buckets = &[Steps]Counts{}
	}
	n := max(int64(now/Step), r.newest)
	for i := max(r.newest+1, n-Steps+1); i <= n; i++ {
		r.buckets[i%Steps] = Counts{}
	}
	r.newest = n
	return &r.buckets[n%Steps]
}

// last calls f with the last n buckets, the oldest first; those that are before time began are missing.
func (r *ring) last(now time.Duration, n int, f func(i int, c *Counts)) {
	if r.buckets == nil {
		return
	}
	r.at(now)
	n = min(n, Steps)
	for i := range n {
		if at := r.newest - int64(n-1-i); at >= 0 {
			f(i, &r.buckets[at%Steps])
		}
	}
}
