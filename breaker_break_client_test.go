package resilient_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestBreakDurationFuncSeesWhatTheBreakIsFor(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		var breaks []resilient.Break
		lengths := []time.Duration{20 * time.Second, 40 * time.Second, -time.Second, time.Hour}
		c := w.client(brittle().Breaker(resilient.BreakDurationFunc(func(b resilient.Break) time.Duration {
			breaks = append(breaks, b)
			return lengths[len(breaks)-1]
		})))
		send := func(status int) {
			d.answer(status)
			got, err := w.post(c)
			is.NoErr(err) // admitted
			is.Equal(got, status)
		}
		send(200)
		send(200)
		send(503)
		is.Equal(len(breaks), 0) // one of three is below the ratio
		send(429)
		is.Equal(w.circuit().RetryAfter, 20*time.Second) // the function's length, not 15 s
		time.Sleep(20 * time.Second)
		send(500)
		is.Equal(w.circuit().RetryAfter, 40*time.Second) // the probe has failed
		time.Sleep(40 * time.Second)
		send(500)
		is.Equal(w.circuit().State, "half-open") // a negative length is none
		send(200)
		is.Equal(w.circuit().State, "closed")
		send(503)
		send(503)
		is.Equal(w.circuit().RetryAfter, time.Hour)

		is.Equal(len(breaks), 4)
		for i, want := range []struct {
			ratio            float64
			failures, breaks int
			status, number   int
		}{
			{0.5, 2, 0, 429, 1}, // two of four
			{0.5, 2, 1, 500, 1}, // a probe's outcome is not in the window
			{0, 0, 2, 500, 1},   // which is empty after a minute
			{1, 2, 0, 503, 1},   // closing has begun the count anew
		} {
			b := breaks[i]
			is.Equal(b.FailureRatio, want.ratio)                 // share of the window
			is.Equal(b.Failures, want.failures)                  // in the window
			is.Equal(b.Breaks, want.breaks)                      // before this one, in a row
			is.Equal(b.Attempt.Response.StatusCode, want.status) // what it was opened by
			is.Equal(b.Attempt.Number, want.number)              // of its call
			is.Equal(b.Attempt.Transient, true)                  // or it would not have been
			is.Equal(b.Attempt.Request.Method, "POST")           // the caller's request
		}
		var told []time.Duration
		for _, e := range eventsOf[resilient.BreakerChanged](w) {
			if e.To == "open" {
				told = append(told, e.Break)
			}
		}
		is.Equal(told, []time.Duration{20 * time.Second, 40 * time.Second, 0, time.Hour}) // as observers hear
	})
}

func TestBreakDurationFuncSeesTheAttemptThatFailed(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.LostResponse...)
		var seen []resilient.Attempt
		c := w.client(brittle().Retry(resilient.MaxRetries(3), resilient.Backoff(0, 0)).
			Breaker(resilient.BreakDurationFunc(func(b resilient.Break) time.Duration {
				seen = append(seen, b.Attempt)
				return time.Minute
			})))
		_, err := w.post(c)
		is.True(errors.Is(err, syscall.ECONNRESET))
		is.Equal(len(seen), 1)
		is.Equal(seen[0].Number, 2)                         // the second attempt opened it
		is.True(seen[0].Response == nil)                    // there was none
		is.True(errors.Is(seen[0].Err, syscall.ECONNRESET)) // this is why
	})
}

func TestBreakLastsUntilRetryAfter(t *testing.T) {
	t.Parallel()
	until := resilient.BreakUntilRetryAfter(true)
	longer := resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return 30 * time.Second })
	for _, row := range []struct {
		name    string
		header  string
		value   string
		options []resilient.BreakerOption
		want    time.Duration
	}{
		{"longer than the break", "Retry-After", "60", []resilient.BreakerOption{until}, 60 * time.Second},
		{"shorter than the break", "Retry-After", "5", []resilient.BreakerOption{until}, 15 * time.Second},
		{"as a date", "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT", []resilient.BreakerOption{until}, 60 * time.Second},
		{"in milliseconds", "Retry-After-Ms", "16500", []resilient.BreakerOption{until}, 16500 * time.Millisecond},
		{"absurdly long", "Retry-After", "99999999999", []resilient.BreakerOption{until}, 24 * time.Hour},
		{"nonsense", "Retry-After", "soon", []resilient.BreakerOption{until}, 15 * time.Second},
		{"none", "X-None", "60", []resilient.BreakerOption{until}, 15 * time.Second},
		{"not asked for", "Retry-After", "60", nil, 15 * time.Second},
		{"longer than the function's", "Retry-After", "60", []resilient.BreakerOption{until, longer}, 60 * time.Second},
		{"shorter than the function's", "Retry-After", "20", []resilient.BreakerOption{until, longer}, 30 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Status(429, row.header, row.value))
				c := w.client(brittle().Breaker(row.options...))
				for range 2 {
					_, err := w.post(c)
					is.NoErr(err)
				}
				_, err := w.post(c)
				is.Equal(refusal(err).RetryAfter, row.want) // of the response that opened it
				time.Sleep(row.want)
				_, err = w.post(c)
				is.NoErr(err) // and it is over then
			})
		})
	}
}

// Only the answer that opens the circuit has a say.
func TestBreakHeedsTheRetryAfterOfTheFailureThatOpenedIt(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.On("/").Script(httptestx.TooManyRequests(time.Hour), httptestx.TooManyRequests(time.Minute))
		c := w.client(brittle().Breaker(resilient.BreakUntilRetryAfter(true)))
		for range 2 {
			_, err := w.post(c)
			is.NoErr(err)
		}
		is.Equal(w.circuit().RetryAfter, time.Minute)
	})
}

func TestRejectedErrorSaysWhatTheCircuitWasOpenedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		plan  []httptestx.Step
		cause error // nil: only a text
		text  string
	}{
		{"a status", httptestx.Unavailable(0), nil, "status 503 Service Unavailable"},
		{"an error", httptestx.LostResponse, syscall.ECONNRESET, ": read: connection reset by peer"},
		{"an attempt timeout", httptestx.Stall, resilient.ErrAttemptTimeout, `resilient: client "orders": attempt timeout after 1s`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(row.plan...)
				c := w.client(brittle().Timeout(resilient.PerAttempt(time.Second)))
				for range 2 {
					_, _ = w.post(c)
				}
				time.Sleep(2500 * time.Millisecond)
				_, err := w.post(c)

				var outer *url.Error
				is.True(errors.As(err, &outer)) // as net/http has it
				is.Equal(outer.Op, "Post")
				is.True(!outer.Timeout()) // nobody has waited
				var rejected *resilient.RejectedError
				is.True(errors.As(err, &rejected))
				is.Equal(rejected.Client, "orders")
				is.Equal(rejected.Gate, "circuit_breaker")
				is.Equal(rejected.RetryAfter, 12500*time.Millisecond)    // exactly
				is.True(errors.Is(err, resilient.ErrCircuitOpen))        // what it is
				is.True(!errors.Is(err, resilient.ErrConcurrencyLimit))  // and what it is not
				is.True(row.cause == nil || errors.Is(err, row.cause))   // what it was opened for
				is.True(row.cause != nil || len(rejected.Unwrap()) == 2) // also if that is a status
				text := rejected.Error()
				prefix := `resilient: client "orders": circuit breaker is open, retry after 12.5s (last failure: `
				is.True(strings.HasPrefix(text, prefix))       // the text has it all
				is.True(strings.HasSuffix(text, row.text+")")) // ports are left out here
			})
		})
	}
}

// The refusal of a retry keeps what this call has met itself.
func TestRejectedRetrySaysWhatItsCallHasMet(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		b := brittle()
		w.On("/reset").Do(httptestx.LostResponse...)
		c := w.client(b)
		retrying := w.client(b.Retry(resilient.MaxRetries(1), resilient.Backoff(5*time.Second, 0), resilient.NoJitter))
		var call sync.WaitGroup
		call.Go(func() {
			_, err := retrying.Get(w.URL + "/reset")
			is.Equal(refusal(err).RetryAfter, 11*time.Second) // the circuit was opened while it waited
			is.True(errors.Is(err, syscall.ECONNRESET))       // its own failure is not forgotten
			causes := refusal(err).Unwrap()
			is.Equal(len(causes), 3)
			is.Equal(causes[0], resilient.ErrCircuitOpen)
			is.Equal(causes[1].Error(), "status 503 Service Unavailable") // what it was opened for
		})
		time.Sleep(time.Second)
		d.answer(503)
		_, err := w.post(c)
		is.NoErr(err)
		is.Equal(w.circuit().State, "open") // with the one in the waiting call
		call.Wait()
		done := eventsOf[resilient.CallDone](w)
		is.Equal(done[len(done)-1].Attempts, 1) // the retry was not sent
	})
}
