package history_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/history"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/matryer/is"
)

const step = history.Step

var errTimedOut, errLeft = errors.New("timed out"), errors.New("left")

func ending(err error) history.Ending {
	switch {
	case errors.Is(err, errTimedOut):
		return history.TimedOut
	case errors.Is(err, errLeft):
		return history.Left
	default:
		return history.Other
	}
}

func attempt(status int, err error, transient bool) pipeline.Event {
	a := pipeline.Attempt{Err: err, Transient: transient}
	if status > 0 {
		a.Response = &http.Response{StatusCode: status}
	}
	return pipeline.Event{Kind: pipeline.AttemptDone, Attempt: a}
}

func done(err error) pipeline.Event {
	return pipeline.Event{Kind: pipeline.CallDone, Attempt: pipeline.Attempt{Err: err}}
}

func denied(r pipeline.Reason, method string) pipeline.Event {
	return pipeline.Event{Kind: pipeline.RetryDenied, Reason: r, Attempt: pipeline.Attempt{
		Request: &http.Request{Method: method}, Response: &http.Response{StatusCode: 503}, Conclusion: pipeline.Unprocessed,
	}}
}

func TestEveryEventIsCountedAsWhatItIs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := history.New(ending)
	for _, e := range []pipeline.Event{
		attempt(200, nil, false),
		attempt(503, nil, true),
		attempt(404, nil, false),
		attempt(0, errors.New("bad certificate"), false),
		attempt(0, errLeft, false), // which is nobody's failure
		{Kind: pipeline.RetryScheduled},
		denied(pipeline.ReasonBudget, "GET"),
		{Kind: pipeline.Rejected, Gate: pipeline.GateBreaker},
		{Kind: pipeline.Skipped, Gate: pipeline.GateThrottle},
		{Kind: pipeline.Redispatched},
		{Kind: pipeline.Replayed},
		done(nil), done(errTimedOut), done(errLeft), done(errors.New("reset")),
	} {
		l.Record(0, e)
	}
	want := history.Counts{Calls: 4, Attempts: 5, Failed: 1, Permanent: 2, Retries: 1, TimedOut: 1, Left: 1}
	want.Denied[pipeline.ReasonBudget], want.Rejected[pipeline.GateBreaker], want.Skipped[pipeline.GateThrottle] = 1, 1, 1
	is.Equal(l.Since(0, 1), want) // each once
	sum := want
	sum.Add(&want)
	is.Equal(sum.Calls+sum.AllDenied()+sum.AllRejected(), uint32(12)) // twice as many
}

func TestCountsLeaveWithTheirTime(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := history.New(ending)
	calls := func(now time.Duration, steps int) uint32 { c := l.Since(now, steps); return c.Calls }
	is.Equal(calls(0, 6), uint32(0)) // nothing yet
	l.Record(step-1, done(nil))
	l.Record(step, done(nil))
	l.Record(5*step, done(nil))
	is.Equal(calls(5*step, 1), uint32(1))              // the present step
	is.Equal(calls(5*step, 5), uint32(2))              // five of them
	is.Equal(calls(5*step, 6), uint32(3))              // all there were
	is.Equal(calls(5*step, 1000), uint32(3))           // more than are kept
	is.Equal(calls(history.Steps*step, 60), uint32(2)) // the first has left
	series := l.Series(history.Steps * step)
	is.Equal(len(series), history.Steps)     // a number for each step
	is.Equal(series[0].Calls, uint32(1))     // the oldest first
	is.Equal(series[4].Calls, uint32(1))     // four steps later
	is.Equal(calls(1e6*step, 60), uint32(0)) // after a long time without calls
	l.Record(1e6*step, done(nil))
	is.Equal(calls(0, 1), uint32(1)) // a clock that goes back stays where it was
}

func TestRefusalsOfOneSortAreOne(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := history.New(ending)
	l.Record(1, denied(pipeline.ReasonBudget, "GET"))
	l.Record(2, denied(pipeline.ReasonBudget, "POST"))
	l.Record(3, pipeline.Event{Kind: pipeline.Rejected, Gate: pipeline.GateBreaker, Delay: 7})
	l.Record(4, denied(pipeline.ReasonBudget, "GET"))
	got := l.Refusals()
	is.Equal(len(got), 3) // two of them are one
	is.Equal(got[0], history.Refusal{
		Sort:  history.Sort{Kind: history.RetryDenied, Reason: pipeline.ReasonBudget, Method: "GET", Status: 503, Conclusion: pipeline.Unprocessed},
		Count: 2, First: 1, Last: 4,
	}) // the last one is first
	is.Equal(got[1], history.Refusal{
		Sort: history.Sort{Kind: history.Rejected, Gate: pipeline.GateBreaker}, Count: 1, First: 3, Last: 3, RetryAfter: 7,
	})
	is.Equal(got[2].Method, "POST") // then the others
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := history.New(ending)
	for i := range 1000 {
		l.Record(time.Duration(i)*step, denied(pipeline.ReasonMethod, strings.Repeat("x", i)))
		l.Record(time.Duration(i)*step, pipeline.Event{Kind: pipeline.BreakerChanged, Change: gate.Transition{To: gate.Open}})
	}
	is.Equal(len(l.Refusals()), 20)                                                          // of a thousand sorts
	is.Equal(l.Refusals()[0].Method, strings.Repeat("x", 999))                               // the newest
	is.Equal(len(l.Changes()), 32)                                                           // of a thousand changes
	is.Equal(l.Changes()[0].At, 999*step)                                                    // the newest
	is.True(unsafe.Sizeof(history.Counts{})*history.Steps <= 8<<10)                          // the counts take 8 KiB
	is.True(20*unsafe.Sizeof(history.Refusal{})+32*unsafe.Sizeof(history.Change{}) <= 6<<10) // and the rest 6
}

func TestRecordingTakesNoMemoryOnceItHasBegun(t *testing.T) {
	is := is.New(t)
	l := history.New(ending)
	e := []pipeline.Event{attempt(503, nil, true), denied(pipeline.ReasonBudget, "GET"), done(nil)}
	now := time.Duration(0)
	is.Equal(testing.AllocsPerRun(100, func() {
		now += step / 2
		for _, e := range e {
			l.Record(now, e)
		}
	}), 0.0) // what there was is used again
}

// An error may be of a type whose methods look at the registry.
func TestErrorsAreAskedWithoutALock(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var l *history.Log
	var seen history.Counts
	l = history.New(func(error) history.Ending {
		seen = l.Since(0, 1)
		return history.Left
	})
	l.Record(0, attempt(0, errLeft, false))
	l.Record(0, done(errLeft))
	is.Equal(seen.Attempts, uint32(1)) // what was recorded before
	is.Equal(l.Since(0, 1).Left, uint32(1))
}

func TestLogIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := history.New(ending)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 250 {
				l.Record(time.Duration(i), done(nil))
				l.Record(time.Duration(i), denied(pipeline.ReasonBudget, "GET"))
				l.Changed(history.Change{ByHand: true})
				if g == 0 {
					l.Since(time.Duration(i), 6)
					l.Series(0)
					l.Refusals()
					l.Changes()
				}
			}
		})
	}
	wg.Wait()
	got := l.Since(250, history.Steps)
	is.Equal(got.Calls, uint32(1000))             // none was lost
	is.Equal(l.Refusals()[0].Count, uint64(1000)) // neither here
}
