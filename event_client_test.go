package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A diary is what an observer writes down: a line for each event, with the time
// since the world began.
type diary struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (d *diary) observe(_ context.Context, e resilient.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v: %s", time.Since(d.began), line(e)))
}

// line has every field of an event but the client's name.
func line(e resilient.Event) string {
	switch e := e.(type) {
	case resilient.AttemptDone:
		return attemptLine(e.Attempt)
	case resilient.RetryScheduled:
		return fmt.Sprintf("retry of %d in %v, asked for %v", e.Failed.Number, e.Delay, e.RetryAfter)
	case resilient.RetryDenied:
		return fmt.Sprintf("retry of %d denied: %s", e.Failed.Number, e.Reason)
	case resilient.Redispatched:
		return "sent again: " + attemptLine(e.Failed)
	case resilient.TransportReplay:
		return "replayed: " + attemptLine(e.During)
	case resilient.Rejected:
		return fmt.Sprintf("rejected by %s for %v", e.Gate, e.RetryAfter)
	case resilient.BreakerChanged:
		return fmt.Sprintf("breaker %s to %s, %d of %d failed, break %v", e.From, e.To, e.Failures, e.Requests, e.Break)
	case resilient.Waited:
		return fmt.Sprintf("waited %v at %s", e.Duration, e.Gate)
	case resilient.BodyCut:
		return fmt.Sprintf("body cut by %s after %v", e.Limit, e.After)
	case resilient.CallDone:
		return fmt.Sprintf("call done: %d attempts, status %d, %s, took %v", e.Attempts, e.Status, errorLine(e.Err), e.Duration)
	default:
		return fmt.Sprintf("unknown kind %T", e)
	}
}

func attemptLine(a resilient.Attempt) string {
	status := 0
	if a.Response != nil {
		status = a.Response.StatusCode
	}
	return fmt.Sprintf("attempt %d: status %d, %s, transient %v, %v, took %v",
		a.Number, status, errorLine(a.Err), a.Transient, a.Conclusion, a.Duration)
}

func errorLine(err error) string {
	if err == nil {
		return "no error"
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 { // the last part says it, and has no ports
		text = text[i+2:]
	}
	return text
}

func TestEventsOfACall(t *testing.T) {
	t.Parallel()
	everything := resilient.New("orders").Defaults(resilient.None).
		Timeout(resilient.Total(20*time.Second), resilient.PerAttempt(5*time.Second)).
		Concurrency(resilient.Permits(1), resilient.Queue(1)).
		Retry(resilient.MaxRetries(2), resilient.Backoff(time.Second, 0), resilient.NoJitter).
		Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(2)).
		Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2), resilient.SamplingDuration(30*time.Second),
			resilient.BreakDuration(15*time.Second))
	for _, row := range []struct {
		name  string
		plans [][]httptestx.Step
		calls int
		want  []string
	}{
		{"success", nil, 1, []string{
			"0s: attempt 1: status 200, no error, transient false, processed, took 0s",
			"0s: call done: 1 attempts, status 200, no error, took 0s",
		}},
		{"not found", [][]httptestx.Step{httptestx.Plan(httptestx.Delay(time.Second), httptestx.Status(404))}, 1, []string{
			"1s: attempt 1: status 404, no error, transient false, processed, took 1s",
			"1s: call done: 1 attempts, status 404, no error, took 1s",
		}},
		{"retry", [][]httptestx.Step{httptestx.Unavailable(0)}, 1, []string{
			"0s: attempt 1: status 503, no error, transient true, unprocessed, took 0s",
			"0s: retry of 1 in 1s, asked for false",
			"1s: attempt 2: status 200, no error, transient false, processed, took 0s",
			"1s: call done: 2 attempts, status 200, no error, took 1s",
		}},
		{"retry that the server asked for", [][]httptestx.Step{httptestx.TooManyRequests(7 * time.Second)}, 1, []string{
			"0s: attempt 1: status 429, no error, transient true, unprocessed, took 0s",
			"0s: retry of 1 in 7s, asked for true",
			"7s: attempt 2: status 200, no error, transient false, processed, took 0s",
			"7s: call done: 2 attempts, status 200, no error, took 7s",
		}},
		{"timeout that opens the circuit", [][]httptestx.Step{httptestx.LostResponse, httptestx.Stall}, 2, []string{
			"0s: attempt 1: status 0, connection reset by peer, transient true, unknown, took 0s",
			"0s: retry of 1 in 1s, asked for false",
			"6s: attempt 2: status 0, attempt timeout after 5s, transient true, unknown, took 5s",
			"6s: breaker closed to open, 2 of 2 failed, break 15s",
			"6s: retry of 2 denied: circuit_open",
			"6s: call done: 2 attempts, status 0, attempt timeout after 5s, took 6s",
			"6s: rejected by circuit_breaker for 15s",
			"6s: call done: 0 attempts, status 0, attempt timeout after 5s), took 0s",
		}},
		{"budget that is used up", [][]httptestx.Step{nil, httptestx.Unavailable(0)}, 2, []string{
			"0s: attempt 1: status 200, no error, transient false, processed, took 0s",
			"0s: call done: 1 attempts, status 200, no error, took 0s",
			"0s: attempt 1: status 503, no error, transient true, unprocessed, took 0s",
			"0s: retry of 1 denied: budget_exhausted",
			"0s: call done: 1 attempts, status 503, no error, took 0s",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Func(func(_ *http.Request, n int) []httptestx.Step {
					if n > len(row.plans) {
						return nil
					}
					return row.plans[n-1]
				})
				d := &diary{began: time.Now()}
				c := w.client(everything.Observe(d.observe))
				for range row.calls {
					if resp, err := c.Get(w.URL); err == nil {
						read(w.T, resp)
					}
				}
				is.Equal(strings.Join(d.lines, "\n"), strings.Join(row.want, "\n"))
			})
		})
	}
}

func TestEventsOfARefusedCall(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(1).Timeout(resilient.Total(time.Minute)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		time.Sleep(time.Second)

		d := &diary{began: time.Now()}
		c = w.client(narrow(1).Timeout(resilient.Total(time.Minute)).Observe(d.observe))
		var calls sync.WaitGroup
		calls.Go(func() { _, _ = c.Get(w.URL) })
		synctest.Wait()
		_, err = c.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit))
		ctx, cancel := context.WithCancelCause(w.Context())
		cancel(errBrowserClosed)
		r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		_, err = c.Do(r)
		is.True(errors.Is(err, context.Canceled))
		calls.Wait()
		is.Equal(strings.Join(d.lines, "\n"), strings.Join([]string{
			"0s: rejected by concurrency_limit for 0s",
			"0s: call done: 0 attempts, status 0, concurrency limit reached, took 0s",
			"0s: call done: 0 attempts, status 0, the browser was closed, took 0s", // not even asked for a permit
			"1m0s: waited 1m0s at concurrency_limit",
			"1m0s: call done: 0 attempts, status 0, total timeout after 1m0s, took 1m0s",
		}, "\n"))
		read(w.T, resp)
	})
}

func TestEventsOfACallerWhoLeavesTheWait(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "sorry"), func(w *world) {
		is := is.New(w.T)
		d := &diary{began: time.Now()}
		c := w.client(resilient.New("orders").Defaults(resilient.None).Observe(d.observe).
			Retry(resilient.MaxRetries(1), resilient.Backoff(time.Minute, 0), resilient.NoJitter))
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(time.Second, cancel)
		r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		_, err := c.Do(r)
		is.True(errors.Is(err, context.Canceled))
		is.Equal(strings.Join(d.lines, "\n"), strings.Join([]string{
			"0s: attempt 1: status 503, no error, transient true, unprocessed, took 0s",
			"0s: retry of 1 in 1m0s, asked for false",
			"1s: call done: 1 attempts, status 0, status 503 Service Unavailable), took 1s",
		}, "\n"))
	})
}

func TestEventsOfACircuitFromClosedToClosed(t *testing.T) {
	t.Parallel()
	dep := &dependency{}
	bubble(t, dep, func(w *world) {
		is := is.New(w.T)
		d := &diary{began: time.Now()}
		c := w.client(brittle().Observe(func(ctx context.Context, e resilient.Event) {
			if _, ok := e.(resilient.BreakerChanged); ok {
				d.observe(ctx, e)
			}
		}))
		for _, status := range []int{200, 404, 503, 200, 503, 429, 0, 0} {
			dep.answer(max(status, 200))
			_, _ = w.post(c)
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		dep.answer(503)
		for range 3 {
			_, _ = w.post(c)
			time.Sleep(15 * time.Second)
		}
		dep.answer(200)
		_, err := w.post(c)
		is.NoErr(err)
		is.Equal(strings.Join(d.lines, "\n"), strings.Join([]string{
			"5s: breaker closed to open, 3 of 6 failed, break 15s",
			"33s: breaker open to half-open, 3 of 6 failed, break 0s",
			"33s: breaker half-open to open, 3 of 6 failed, break 15s",
			"48s: breaker open to half-open, 3 of 6 failed, break 0s",
			"48s: breaker half-open to open, 3 of 6 failed, break 15s",
			"1m3s: breaker open to half-open, 0 of 0 failed, break 0s", // they have left the window
			"1m3s: breaker half-open to closed, 0 of 0 failed, break 0s",
		}, "\n"))
	})
}

func TestEventsCarryTheirSourceAndTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	for _, row := range []struct {
		build func(resilient.Builder) resilient.Builder
		want  resilient.Source
	}{
		{func(b resilient.Builder) resilient.Builder { return b }, resilient.Source{Client: "orders"}},
		{resilient.Builder.PerAuthority, resilient.Source{Client: "orders", Authority: "http://httptestx.test:80"}},
	} {
		t.Run(row.want.Authority, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			d.answer(503)
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				kinds := map[string]resilient.Source{}
				b := brittle().Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0))
				c := w.client(row.build(b).Observe(func(ctx context.Context, e resilient.Event) {
					is.Equal(ctx.Value(key{}), "caller's") // the request's context
					var s resilient.Source
					switch e := e.(type) {
					case resilient.AttemptDone:
						s = e.Source
						is.Equal(e.Request.URL.Path, "/orders") // the caller's request
					case resilient.RetryScheduled:
						s = e.Source
					case resilient.RetryDenied:
						s = e.Source
					case resilient.Rejected:
						s = e.Source
					case resilient.BreakerChanged:
						s = e.Source
					case resilient.CallDone:
						s = e.Source
					}
					kinds[fmt.Sprintf("%T", e)] = s
				}))
				for range 2 {
					r, _ := http.NewRequestWithContext(context.WithValue(w.Context(), key{}, "caller's"), "GET", w.URL+"/orders", nil)
					if resp, err := c.Do(r); err == nil {
						read(w.T, resp)
					}
				}
				is.Equal(len(kinds), 6) // six kinds of event
				for _, s := range kinds {
					is.Equal(s, row.want)
				}
			})
		})
	}
}

// A pooled connection that is dead costs neither a retry nor a count.
func TestRedispatchIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("PUT /").Script(httptestx.ResetBeforeRead)
		d := &diary{began: time.Now()}
		c := w.client(counted().Observe(d.observe).Budget().Retry(resilient.MaxRetries(1)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp) // the connection is in the pool
		r, _ := http.NewRequest("PUT", w.URL, strings.NewReader(strings.Repeat("x", 8<<20)))
		resp, err = c.Do(r)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(len(d.lines), 5)
		again := eventsOf[resilient.Redispatched](w)
		is.Equal(len(again), 1)
		is.Equal(again[0].Failed.Number, 1)
		is.Equal(again[0].Failed.Conclusion, resilient.Unprocessed)
		is.Equal(d.lines[3:], []string{
			"0s: attempt 1: status 200, no error, transient false, processed, took 0s", // the same attempt
			"0s: call done: 1 attempts, status 200, no error, took 0s",
		})
		requests, failures := w.tally()
		is.Equal(requests, uint64(2)) // one a call
		is.Equal(failures, uint64(0))
		is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(0))
	})
}

// The budget counts calls that are sent, and no others.
func TestBudgetDoesNotCountWhatAGateRefused(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		c := w.client(brittle().Retry(resilient.MaxRetries(3), resilient.Backoff(0, 0)).Budget())
		d.answer(503)
		for range 5 {
			_, _ = w.post(c)
		}
		is.Equal(d.hits.Load(), int32(2))
		s := w.registry.Snapshot()[0]
		is.Equal(s.Budget.Requests, uint64(1))             // the first call, once
		is.Equal(s.Budget.Retries, uint64(1))              // and its retry
		is.Equal(s.Rejected["circuit_breaker"], uint64(4)) // the others were turned away
		is.Equal(s.RetriesDenied["circuit_open"], uint64(1))
	})
}
