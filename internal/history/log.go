package history

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// What is kept of refusals and changes.
const (
	maxRefusals = 20
	maxChanges  = 32
)

// A Log is the history of one state. It is safe for concurrent use.
type Log struct {
	ending func(error) Ending

	mu       sync.Mutex
	ring     ring
	refusals []Refusal // the one that happened last at the end
	changes  []Change  // the newest at the end
}

// An Ending is what an error says about how its call ended.
type Ending uint8

// The endings.
const (
	Other    Ending = iota
	TimedOut        // by the total timeout
	Left            // by the caller
)

// A Kind is what was refused.
type Kind uint8

// The kinds of refusals.
const (
	RetryDenied Kind = iota // a retry, for a reason
	Rejected                // a call or an attempt, by a gate
	Skipped                 // an attempt, by the gate of one endpoint
)

// A Refusal is all refusals of one sort: those that differ in nothing but their time.
type Refusal struct {
	Sort
	Count       uint64        // since First
	First, Last time.Duration // when they happened
	RetryAfter  time.Duration // of the last one; 0 is not known
}

// A Sort of refusals.
type Sort struct {
	Kind       Kind
	Reason     pipeline.Reason // of RetryDenied
	Gate       pipeline.Gate   // of the others
	Endpoint   string
	Method     string // of the request whose retry was denied
	Status     int    // that it was answered with; 0 if it was not
	Conclusion pipeline.Conclusion
}

// A Change is one of a circuit breaker.
type Change struct {
	At                 time.Duration
	Endpoint           string
	From, To           string
	Requests, Failures uint64
	Break              time.Duration
	ByHand             bool
}

// New returns an empty log. It asks ending about the errors of calls.
func New(ending func(error) Ending) *Log { return &Log{ending: ending} }

// Record takes down an event.
func (l *Log) Record(now time.Duration, e pipeline.Event) {
	ending := l.endingOf(&e)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.ring.at(now)
	switch e.Kind {
	case pipeline.AttemptDone:
		attempt(c, &e.Attempt, ending)
	case pipeline.RetryScheduled:
		c.Retries++
	case pipeline.CallDone:
		call(c, ending)
	case pipeline.RetryDenied:
		c.Denied[e.Reason]++
		l.refused(now, 0, denied(&e))
	case pipeline.Rejected:
		c.Rejected[e.Gate]++
		l.refused(now, e.Delay, Sort{Kind: Rejected, Gate: e.Gate})
	case pipeline.Skipped:
		c.Skipped[e.Gate]++
		l.refused(now, e.Delay, Sort{Kind: Skipped, Gate: e.Gate, Endpoint: e.Endpoint})
	case pipeline.BreakerChanged:
		l.changed(Change{
			At: now, Endpoint: e.Endpoint, From: e.Change.From.String(), To: e.Change.To.String(),
			Requests: e.Change.Requests, Failures: e.Change.Failures, Break: e.Change.Break,
		})
	}
}

// endingOf is what an event says about how its call ended. No lock is held: an error has methods of its own.
func (l *Log) endingOf(e *pipeline.Event) Ending {
	if err := e.Attempt.Err; err != nil && (e.Kind == pipeline.AttemptDone || e.Kind == pipeline.CallDone) {
		return l.ending(err)
	}
	return Other
}

func attempt(c *Counts, a *pipeline.Attempt, ending Ending) {
	c.Attempts++
	switch {
	case a.Transient:
		c.Failed++
	case a.Err != nil && ending != Left, a.Response != nil && a.Response.StatusCode >= 400:
		c.Permanent++
	}
}

func call(c *Counts, ending Ending) {
	c.Calls++
	switch ending {
	case TimedOut:
		c.TimedOut++
	case Left:
		c.Left++
	}
}

func denied(e *pipeline.Event) Sort {
	a := &e.Attempt
	s := Sort{Kind: RetryDenied, Reason: e.Reason, Endpoint: a.Endpoint, Conclusion: a.Conclusion}
	if a.Request != nil {
		s.Method = a.Request.Method
	}
	if a.Response != nil {
		s.Status = a.Response.StatusCode
	}
	return s
}

// refused notes a refusal, as one more of its sort if there was one of late.
func (l *Log) refused(now, retryAfter time.Duration, s Sort) {
	r := Refusal{Sort: s, First: now}
	i := slices.IndexFunc(l.refusals, func(r Refusal) bool { return r.Sort == s })
	switch {
	case i >= 0:
		r = l.refusals[i]
		l.refusals = slices.Delete(l.refusals, i, i+1)
	case len(l.refusals) == maxRefusals:
		l.refusals = slices.Delete(l.refusals, 0, 1)
	}
	if i < 0 {
		r.Method = strings.Clone(s.Method) // which may be a part of something large
	}
	r.Count++
	r.Last, r.RetryAfter = now, retryAfter
	l.refusals = append(l.refusals, r)
}

func (l *Log) changed(c Change) {
	if len(l.changes) == maxChanges {
		l.changes = slices.Delete(l.changes, 0, 1)
	}
	l.changes = append(l.changes, c)
}

// Changed notes a change of a breaker that was made by hand.
func (l *Log) Changed(c Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed(c)
}

// Since returns what happened within the last steps, that of the present included.
func (l *Log) Since(now time.Duration, steps int) Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum Counts
	l.ring.last(now, steps, func(_ int, c *Counts) { sum.Add(c) })
	return sum
}

// Series returns what happened in each step, the present one last.
func (l *Log) Series(now time.Duration) []Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Counts, Steps)
	l.ring.last(now, Steps, func(i int, c *Counts) { all[i] = *c })
	return all
}

// Refusals returns the last refusals, those that happened last first.
func (l *Log) Refusals() []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.refusals)
	slices.Reverse(all)
	return all
}

// Changes returns the last changes of breakers, the newest first.
func (l *Log) Changes() []Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.changes)
	slices.Reverse(all)
	return all
}
