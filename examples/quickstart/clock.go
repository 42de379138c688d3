package main

import (
	"sync"
	"time"
)

// A clock shows the time since the start of the run. It stands still while the machine does: a laptop that slept, or a
// shared machine that was busy with something else, must not come back to a flood of calls that are overdue.
type clock struct {
	mu     sync.Mutex
	start  time.Time
	ticked time.Duration // what the run has come to
	stood  time.Duration // for how long the clock stood still so far
}

// tolerance is how late a call may be made without stopping the clock. It is well below what clients wait.
const tolerance = 50 * time.Millisecond

func newClock() *clock { return &clock{start: time.Now()} }

// now returns the time since the start. It never goes back.
func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(time.Since(c.start), c.ticked+tolerance)
}

// tick says that the run has come to t. Until the next tick the clock goes on for no longer than tolerance.
func (c *clock) tick(t time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticked = t
	if late := time.Since(c.start) - t; late > tolerance {
		c.start = c.start.Add(late - tolerance)
		c.stood += late - tolerance
	}
}

// sleepUntil returns when the clock shows t.
func (c *clock) sleepUntil(t time.Duration) {
	for left := t - c.now(); left > 0; left = t - c.now() {
		time.Sleep(left)
	}
}
