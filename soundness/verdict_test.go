package soundness_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
)

// An outcome is what was concluded from a dispatch, and what from.
type outcome struct {
	resilient.Conclusion
	evidence string
	err      error
	status   int
	sends    int
}

func (o outcome) String() string {
	return fmt.Sprintf("concluded %v (%s, sent %d times): %v %d", o.Conclusion, o.evidence, o.sends, o.err, o.status)
}

// observe collects what the library says about its calls.
func (w *world) observe(ctx context.Context, e resilient.Event) {
	c := ctx.Value(callKey{}).(*call)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case resilient.AttemptDone:
		c.conclude(e.Attempt)
	case resilient.Redispatched:
		w.tally.add("told: re-dispatched")
		c.conclude(e.Failed)
	case resilient.TransportReplay:
		w.tally.add("told: replayed by net/http")
	case resilient.RetryScheduled:
		w.tally.add("told: retried after " + e.Failed.Conclusion.String())
	case resilient.RetryDenied:
		w.tally.add("told: denied as " + e.Reason)
	}
}

// conclude counts the sends that the library tells of. Such as it calls unprocessed
// can't account for a run of the handler.
func (c *call) conclude(a resilient.Attempt) {
	sends := int(c.sends.Swap(0))
	wrote := c.wrote.Swap(false)
	o := outcome{Conclusion: a.Conclusion, err: a.Err, sends: a.Sends}
	if a.Response != nil {
		o.status = a.Response.StatusCode
	}
	o.evidence = c.evidence(o, sends, wrote)
	c.outcomes = append(c.outcomes, o)
	c.told += a.Sends
	if a.Conclusion != resilient.Unprocessed {
		c.open += a.Sends
	}
}

// evidence is what can have told that a dispatch was not processed, as far as can
// be seen from outside.
func (c *call) evidence(o outcome, sends int, wrote bool) string {
	switch {
	case o.err == nil:
		return "by status"
	case sends == 0:
		return "without a connection"
	case strings.Contains(o.err.Error(), "REFUSED_STREAM"):
		return "by REFUSED_STREAM"
	case strings.Contains(o.err.Error(), "GOAWAY"):
		return "by GOAWAY"
	case strings.Contains(o.err.Error(), "http2: client conn "):
		return "by a connection that was lost"
	case strings.Contains(o.err.Error(), "remote error: tls"):
		return "by an alert"
	case !wrote:
		return "before the headers were written"
	case c.body:
		return "with a body, after the headers were written"
	default:
		return "without a body, after the headers were written"
	}
}

// judge holds what the library concluded against what the server did.
func (w *world) judge(t *testing.T, c *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.outcomes {
		w.tally.add(fmt.Sprintf("concluded %v %s", o.Conclusion, o.evidence))
		switch {
		case o.Conclusion != resilient.Unknown || o.err == nil:
		case c.ran > 0:
			w.tally.add("unknown, and the handler ran")
		default:
			w.tally.add("unknown, and the handler did not run")
		}
	}
	if c.ran > 0 {
		w.tally.add("calls: the handler ran")
	}
	w.tally.add("calls")
	unsafe := !c.keyed && (c.method == http.MethodPost || c.method == http.MethodPatch)
	excused := 0
	if !c.body {
		excused = c.excused
	}
	switch {
	case w.base == impatient && !c.body:
		// It may send the request after it has returned, and nothing can stop it.
	case c.ran > c.open:
		t.Errorf("the handler ran for a request that was concluded unprocessed\nworld of seed %d, %v", w.seed, c)
	case unsafe && c.ran > 1+excused:
		t.Errorf("the handler ran twice for a call that must not be repeated\nworld of seed %d, %v", w.seed, c)
	case w.base != impatient && (c.started > c.told || c.arrived > c.told):
		t.Errorf("the server got more requests than were told of\nworld of seed %d, %v", w.seed, c)
	}
}
