package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// reported makes a request with a report.
func (w *world) reported(method, body string) (*http.Request, *resilient.Report) {
	w.Helper()
	ctx, report := resilient.WithReport(w.Context())
	r, err := http.NewRequestWithContext(ctx, method, w.URL, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	return r, report
}

func TestReportTellsWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	unavailable, hang := httptestx.Unavailable(0), httptestx.Plan(httptestx.Hang)
	standard := resilient.New("orders").Timeout(resilient.Total(20*time.Second), resilient.PerAttempt(5*time.Second)).
		Retry(resilient.MaxRetries(2), every(time.Second)).Breaker(resilient.Off)
	for name, c := range map[string]struct {
		builder  resilient.Builder
		script   [][]httptestx.Step
		attempts int
		waited   time.Duration
		ended    string
		line     string
	}{
		"answered": {standard, nil, 1, 0, "completed", "orders: 200, done in 0s"},
		"repeated": {
			standard,
			[][]httptestx.Step{unavailable, httptestx.LostResponse},
			3, 2 * time.Second, "completed",
			"orders: 503, retry in 1s, orders: connection_lost (may have been processed), retry in 1s, orders: 200, done in 2s",
		},
		"attempts": {
			standard.Retry(resilient.MaxRetries(1)),
			[][]httptestx.Step{unavailable, unavailable},
			2, time.Second, "attempts",
			"orders: 503, retry in 1s, orders: 503, no retry: attempts, done in 1s",
		},
		"budget": {
			standard.Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1)),
			[][]httptestx.Step{unavailable},
			1, 0, "budget_exhausted", "orders: 503, no retry: budget_exhausted, done in 0s",
		},
		"ambiguous": {
			standard.Idempotency(resilient.UnprocessedOnly),
			[][]httptestx.Step{httptestx.LostResponse},
			1, 0, "ambiguous", "orders: connection_lost (may have been processed), no retry: ambiguous, done in 0s",
		},
		"total timeout": {
			standard.Timeout(resilient.Total(7 * time.Second)),
			[][]httptestx.Step{hang, hang},
			2, time.Second, "total_timeout",
			"orders: attempt_timeout (may have been processed), retry in 1s, " +
				"orders: total_timeout (may have been processed), ended by total_timeout after 7s",
		},
		"broken circuit": {
			standard.Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2), resilient.BreakDuration(time.Minute)).
				Timeout(resilient.PerAttempt(time.Second)),
			[][]httptestx.Step{unavailable, unavailable},
			2, time.Second, "circuit_open",
			"orders: 503, retry in 1s, orders: 503, circuit open, no retry: circuit_open, done in 1s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, echoing(), func(w *world) {
				is := is.New(w.T)
				if c.script != nil {
					w.On("/").Script(c.script...)
				}
				r, report := w.reported("POST", "order")
				is.Equal(report.Ended(), "") // nothing has happened yet
				if resp, err := w.client(c.builder).Do(r); err == nil {
					read(w.T, resp)
				}
				is.Equal(report.String(), c.line)
				is.Equal(report.Attempts(), c.attempts)
				is.Equal(report.Sends(), w.arrived()) // what the server counted is what is told
				is.Equal(report.Waited(), c.waited)
				is.Equal(report.Ended(), c.ended)
			})
		})
	}
}

func TestReportTellsOfACallerWhoLeft(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Unavailable(0)...)
		r, report := w.reported("GET", "")
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := w.client(retrying(every(time.Minute))).Do(r.WithContext(ctx))
		is.True(errors.Is(err, context.Canceled))
		is.Equal(report.Ended(), "canceled")
		is.Equal(report.Waited(), time.Second) // of the minute
		is.Equal(report.String(), "orders: 503, retry in 1m0s, canceled after 1s")
	})
}

func TestReportTellsOfARefusal(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		c := w.client(resilient.New("orders").Concurrency(resilient.Permits(1)))
		held, err := c.Post(w.URL, "text/plain", strings.NewReader("order"))
		is.NoErr(err)
		r, report := w.reported("POST", "order")
		_, err = c.Do(r)
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit))
		is.Equal(report.String(), "orders: rejected by concurrency_limit, done in 0s")
		is.Equal(report.Ended(), "concurrency_limit")
		is.Equal(report.Attempts(), 0) // nothing was made
		is.Equal(report.Sends(), 0)    // or sent
		read(w.T, held)
	})
}

func TestReportTellsOfWaitsAndOfBodiesThatWereCut(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "body"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Handle, httptestx.Send(1), httptestx.Hang)
		c := w.client(resilient.New("orders").Defaults(resilient.None).Timeout(resilient.BodyIdle(2*time.Second)).
			RateLimit(resilient.PerMinute(6), resilient.Burst(1), resilient.Wait(time.Minute)))
		r, report := w.reported("GET", "")
		for range 2 {
			resp, err := c.Do(r)
			is.NoErr(err)
			_, err = io.Copy(io.Discard, resp.Body)
			is.True(errors.Is(err, resilient.ErrBodyIdle))
			is.NoErr(resp.Body.Close())
		}
		is.Equal(report.String(), "orders: 200, done in 0s, body cut: body_idle, "+
			"waited 8s at rate_limit, orders: 200, done in 8s, body cut: body_idle")
	})
}

// Each hop is a call, and the report is of all of them.
func TestReportAddsUpTheCallsOfARedirect(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		w.On("/").Script(httptestx.Plan(httptestx.Status(307, "Location", "/there")), httptestx.Unavailable(0))
		r, report := w.reported("PUT", "order")
		resp, err := w.client(retrying(every(time.Second))).Do(r)
		is.NoErr(err)
		is.Equal(read(w.T, resp), "order")
		is.Equal(report.String(), "orders: 307, done in 0s, orders: 503, retry in 1s, orders: 200, done in 1s")
		is.Equal(report.Attempts(), 3)
		is.Equal(report.Sends(), w.arrived())
	})
}

// What a client below does is part of the attempt of the one above: it is shown,
// and not counted twice.
func TestReportDoesNotCountAttemptsWithinAnAttempt(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]resilient.Builder{
		"with retries":    retrying(every(time.Second)),
		"without retries": retrying(resilient.Off),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, echoing(), func(w *world) {
				is := is.New(w.T)
				inner := w.client(resilient.New("inner")).Transport
				r, report := w.reported("PUT", "order")
				resp, err := w.over(inner, policy).Do(r)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(report.String(), "inner: 200, done in 0s, orders: 200, done in 0s")
				is.Equal(report.Attempts(), 1)
				is.Equal(report.Sends(), 1)
			})
		})
	}
}

// A library may want a report of its own, and so may its caller.
func TestReportOfAnOuterContextIsToldTheSame(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		r, outer := w.reported("GET", "")
		ctx, report := resilient.WithReport(r.Context())
		resp, err := w.client(retrying()).Do(r.WithContext(ctx))
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(outer.Attempts(), 1)
		is.Equal(report.Events(), outer.Events())
	})
}
