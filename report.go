package resilient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// A Report tells what became of the calls that were made with a context, from
// [WithReport]: for a log line, or for a test that compares it with what the server
// saw. Each hop of a redirect is a call. It is safe for concurrent use, also while
// calls are under way. Figures leave out what a client below another one does
// within an attempt of that, which Events shows as well.
type Report struct {
	outer *Report // of a context above; it is told the same

	mu       sync.Mutex
	events   []Event
	attempts int
	sends    int
	waited   time.Duration
	ended    string
}

type reportKey struct{}

// WithReport returns a context whose calls are written down in the report.
//
//	ctx, report := resilient.WithReport(ctx)
//	resp, err := client.Do(req.WithContext(ctx))
//	log.Print(report) // inventory: 503, retry in 200ms, inventory: 200, done in 231ms
func WithReport(ctx context.Context) (context.Context, *Report) {
	r := &Report{outer: reportOf(ctx)}
	return context.WithValue(ctx, reportKey{}, r), r
}

func reportOf(ctx context.Context) *Report {
	r, _ := ctx.Value(reportKey{}).(*Report)
	return r
}

// Events returns every decision so far, those of one call in their order.
func (r *Report) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Attempts is how many attempts were made.
func (r *Report) Attempts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts
}

// Sends is how many requests the servers may have received: attempts that got as
// far as sending, and what was sent again within one. It is never less than what
// arrived, and more only by what was written to a connection that was dead already.
func (r *Report) Sends() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sends
}

// Waited is how much of the calls that have ended was not spent in attempts, but
// before retries or in the queue of the concurrency limit.
func (r *Report) Waited() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waited
}

// Ended tells why the last call that has ended went no further, or is empty if
// none has. It is "completed" if the outcome of its last attempt was not worth a
// retry, the reason of a [RetryDenied], the gate of a [Rejected], "total_timeout", or
// "canceled" if the caller left or his deadline passed.
func (r *Report) Ended() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// String is all of it in one line, with failures and reasons in the words of [Slog]. An attempt without a response is
// told with what that says about the server:
//
//	orders: attempt_timeout (may have been processed), retry in 1s, orders: 503, retry in 1s, orders: 200, done in 7s
//
// It has no URL, header or error text in it.
func (r *Report) String() string {
	events := r.Events()
	words := make([]string, 0, len(events))
	for _, e := range events {
		if w := reported(e); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

// reported is what a report's line says of an event.
func reported(e Event) string {
	switch e := e.(type) {
	case AttemptDone:
		return e.Client + ": " + came(e.Attempt)
	case RetryScheduled:
		return fmt.Sprintf("retry in %v", e.Delay)
	case RetryDenied:
		return "no retry: " + e.Reason
	case Redispatched:
		return e.Client + ": dead connection, sent again"
	case TransportReplay:
		return "sent twice by net/http"
	case Rejected:
		return e.Client + ": rejected by " + e.Gate
	case BreakerChanged:
		return "circuit " + e.To
	case Waited:
		return fmt.Sprintf("waited %v at %s", e.Duration, e.Gate)
	case BodyCut:
		return "body cut: " + e.Limit
	case CallDone:
		return done(e)
	}
	return ""
}

// done is how a call ended: on its own, or because its time was up or its caller left.
func done(e CallDone) string {
	switch why := ending(0, e.Err); why {
	case totalTimeout:
		return fmt.Sprintf("ended by %s after %v", why, e.Duration)
	case canceled:
		return fmt.Sprintf("%s after %v", why, e.Duration)
	}
	return fmt.Sprintf("done in %v", e.Duration)
}

// came is what an attempt came to: its status, or what it failed with, in the words of [Slog], and what that tells.
func came(a Attempt) string {
	if a.Response != nil {
		return fmt.Sprint(a.Response.StatusCode)
	}
	tells := [...]string{Unknown: "may have been processed", Unprocessed: "not processed", Processed: "processed"}
	return ending(0, a.Err) + " (" + tells[a.Conclusion] + ")"
}

// A reporter writes down one call.
type reporter struct {
	*Report
	ctx   context.Context
	inner bool          // the call is part of an attempt of a client above
	busy  time.Duration // spent in attempts
	no    string        // to another attempt
}

// newReporter returns what writes down a call made with ctx; nil if nothing does.
func newReporter(ctx context.Context) *reporter {
	r := reportOf(ctx)
	if r == nil {
		return nil
	}
	return &reporter{Report: r, ctx: ctx, inner: pipeline.Nested(ctx)}
}

func (c *reporter) add(e Event) {
	switch e := e.(type) {
	case AttemptDone:
		c.busy += e.Duration
	case Redispatched:
		c.busy += e.Failed.Duration
	case RetryDenied:
		c.no = e.Reason
	case Rejected:
		c.no = e.Gate
	}
	for r := c.Report; r != nil; r = r.outer {
		c.write(r, e)
	}
}

// ending is why the call ended.
func (c *reporter) ending(e CallDone) string {
	switch {
	case c.no != "":
		return c.no
	case errors.Is(e.Err, ErrTotalTimeout):
		return totalTimeout
	case e.Err != nil && c.ctx.Err() != nil, errors.Is(e.Err, context.Canceled):
		return canceled
	}
	return "completed"
}

func (c *reporter) write(r *Report, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if c.inner {
		return
	}
	switch e := e.(type) {
	case AttemptDone:
		r.attempts++
		r.sends += e.Sends
	case Redispatched:
		r.sends += e.Failed.Sends
	case CallDone:
		r.waited += e.Duration - c.busy
		r.ended = c.ending(e)
	}
}
