package httptestx

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// condition is one thing that a rule asks for, whether it is written in Go or in a
// document.
type condition struct {
	words   string                   // as written in Go, for messages
	mistake string                   // why it cannot be meant, "" if it can
	accepts func(*http.Request) bool // for a request to be counted; nil if it does not decide that
	selects func(draw) bool          // for a counted request to get a plan; same
}

func whereHeader(name, value string) condition {
	return condition{
		words: fmt.Sprintf("Header(%q, %q)", name, value),
		accepts: func(r *http.Request) bool {
			return slices.Contains(r.Header.Values(name), value)
		},
	}
}

func whereBetween(clock *stopwatch, from, to time.Duration) condition {
	return condition{
		words:   fmt.Sprintf("Between(%v, %v)", from, to),
		mistake: unless(from < to, "the window is empty"),
		accepts: func(*http.Request) bool {
			age := clock.elapsed()
			return from <= age && age < to
		},
	}
}

func whereNth(n []int) condition {
	n = slices.Clone(n)
	return condition{
		words:   fmt.Sprintf("Nth(%s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ", "), "[]")),
		mistake: unless(len(n) > 0 && slices.Min(n) >= 1, "requests are counted from 1"),
		selects: func(d draw) bool { return slices.Contains(n, d.count) },
	}
}

func whereFirst(n int) condition {
	return condition{
		words:   fmt.Sprintf("First(%d)", n),
		mistake: unless(n >= 1, "n must be 1 or more"),
		selects: func(d draw) bool { return d.count <= n },
	}
}

func whereAfter(n int) condition {
	return condition{
		words:   fmt.Sprintf("After(%d)", n),
		mistake: unless(n >= 0, "n must not be negative"),
		selects: func(d draw) bool { return d.count > n },
	}
}

func whereEvery(n int) condition {
	return condition{
		words:   fmt.Sprintf("Every(%d)", n),
		mistake: unless(n >= 1, "n must be 1 or more"),
		selects: func(d draw) bool { return d.count%n == 0 },
	}
}

func whereProb(p float64) condition {
	return condition{
		words:   fmt.Sprintf("Prob(%v)", p),
		mistake: unless(0 <= p && p <= 1, "p must be 0 to 1"),
		selects: func(d draw) bool { return d.chance() < p },
	}
}

// unless returns the complaint if it is not ok.
func unless(ok bool, complaint string) string {
	if ok {
		return ""
	}
	return complaint
}

// with adds a condition that is no mistake.
func (r Rule) with(c condition) Rule {
	if c.accepts != nil {
		r.accepts = append(slices.Clip(r.accepts), c.accepts)
	}
	if c.selects != nil {
		r.selects = append(slices.Clip(r.selects), c.selects)
	}
	return r.say(c.words)
}

// stopwatch is what the windows of time are counted from.
type stopwatch struct{ began atomic.Pointer[time.Time] }

func newStopwatch() *stopwatch {
	w := &stopwatch{}
	w.restart()
	return w
}

func (w *stopwatch) restart() {
	now := time.Now()
	w.began.Store(&now)
}

func (w *stopwatch) start() time.Time { return *w.began.Load() }

func (w *stopwatch) elapsed() time.Duration { return time.Since(w.start()) }
