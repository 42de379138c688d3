package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// drive has every contender call its dependency at a fixed rate until the run is over, and returns when the last call
// has ended. It does not wait for answers in between: users do not come more slowly because a server is slow.
func drive(clock *clock, contenders []*contender) {
	const total = rate * int(runFor/time.Second)
	var calls sync.WaitGroup
	for n := range total {
		due := time.Duration(n) * time.Second / rate
		clock.sleepUntil(due)
		clock.tick(due)
		for _, c := range contenders {
			calls.Go(func() { c.call(due) })
		}
	}
	calls.Wait()
}

// call makes one call and records whether it succeeded.
func (c *contender) call(due time.Duration) {
	resp, err := c.get(c.dependency.url)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body) // read to its end, so that the connection can be used again
		resp.Body.Close()
	}
	c.record.add(outcome{due, err == nil && resp.StatusCode == http.StatusOK})
}

// An outcome is what became of one call.
type outcome struct {
	began time.Duration // since the start of the run
	ok    bool
}

// A record holds the outcomes of one contender. It is safe for concurrent use.
type record struct {
	mu       sync.Mutex
	outcomes []outcome // in the order in which the calls ended
	shown    int       // how many of them the last line of progress has covered
}

func (r *record) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
}

// latest returns the outcomes since the last time it was called.
func (r *record) latest() []outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := r.outcomes[r.shown:]
	r.shown = len(r.outcomes)
	return latest
}

// watch prints a line a second for as long as the load lasts.
func watch(w io.Writer, clock *clock, contenders []*contender) {
	fmt.Fprintf(w, "%6s  %-13s", "time", "dependency")
	for _, c := range contenders {
		fmt.Fprintf(w, " %13s", c.name)
	}
	fmt.Fprintln(w)
	for at := time.Second; at <= runFor; at += time.Second {
		clock.sleepUntil(at)
		fmt.Fprintf(w, "%4.0f s  %-13s", at.Seconds(), phaseAt(at-time.Second))
		for _, c := range contenders {
			fmt.Fprintf(w, " %13s", percent(success(c.record.latest(), 0, runFor)))
		}
		fmt.Fprintln(w)
	}
}
