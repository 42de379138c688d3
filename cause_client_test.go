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

// saying answers with a status, headers in pairs, and a body in JSON.
func saying(status int, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// discerning reads error answers, waits a second before a retry, and opens its circuit never.
func discerning() resilient.Builder {
	return retrying(every(time.Second)).Retry(resilient.ReadCauses(true), resilient.RetryAfter(true)).
		Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(100))
}

const (
	noMoney = `{"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}`
	tooMuch = `{"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}}`
)

func TestCauseDecidesWhetherARetryIsWorthIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer   http.Handler
		attempts int
		cause    string
		denied   []string
		failures uint64 // as the circuit breaker counts
		counted  uint64
	}{
		"rate":            {saying(429, tooMuch), 3, "rate", []string{"attempts"}, 3, 3},
		"money":           {saying(429, noMoney), 1, "money", []string{"final"}, 0, 0},
		"a day's wait":    {saying(429, tooMuch, "Retry-After", "86400"), 1, "impossible", []string{"final"}, 0, 0},
		"overloaded":      {saying(529, `{"type": "error", "error": {"type": "overloaded_error"}}`), 3, "overloaded", []string{"attempts"}, 3, 3},
		"server":          {saying(500, ""), 3, "server", []string{"attempts"}, 3, 3},
		"content filter":  {saying(400, `{"error": {"code": "content_filter"}}`), 1, "content_filter", nil, 0, 0},
		"denied":          {saying(401, "{}"), 1, "denied", nil, 0, 0},
		"forbidden":       {saying(403, "{}"), 1, "denied", nil, 0, 0},
		"timeout":         {saying(408, ""), 3, "timeout", []string{"attempts"}, 3, 3},
		"unavailable":     {saying(503, ""), 3, "overloaded", []string{"attempts"}, 3, 3},
		"conflict":        {saying(409, "{}"), 3, "conflict", []string{"attempts"}, 0, 0},
		"told not to":     {saying(503, "{}", "X-Should-Retry", "false"), 1, "overloaded", []string{"final"}, 1, 1},
		"told to":         {saying(400, "{}", "X-Should-Retry", "true"), 3, "invalid", []string{"attempts"}, 0, 0},
		"no error at all": {saying(200, noMoney), 1, "", nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, c.answer, func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(discerning()).Post(w.URL, "application/json", strings.NewReader("{}"))
				is.NoErr(err)
				read(w.T, resp)
				done := eventsOf[resilient.AttemptDone](w)
				is.Equal(len(done), c.attempts)
				is.Equal(done[0].Cause, c.cause)
				is.Equal(w.denials(), c.denied)
				b := w.registry.Snapshot()[0].Breaker
				is.Equal(b.Failures, c.failures) // what the circuit breaker holds against the server
				is.Equal(b.Requests, c.counted)  // and of how many
			})
		})
	}
}

func TestBodyThatWasLookedAtIsWhole(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 100 << 10} {
			body := strings.Repeat("x", size)
			p.bubble(t, saying(400, body), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(discerning()).Get(w.URL)
				is.NoErr(err)
				is.True(read(w.T, resp) == body) // byte for byte
			})
		}
	})
}

// A server that lets the body wait is judged by its status, and not waited for; what comes later is the caller's.
func TestBodyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		p.bubble(t, saying(400, noMoney), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Handle, httptestx.Send(7), httptestx.Delay(time.Minute))
			start := time.Now()
			resp, err := w.client(discerning()).Get(w.URL)
			is.NoErr(err)
			is.Equal(time.Since(start), 100*time.Millisecond) // as long as for a response that nobody will see
			is.Equal(read(w.T, resp), noMoney)                // all of it
			is.Equal(time.Since(start), time.Minute)          // when it is there
		})
	})
}

func TestBodyThatDoesNotComeMayBeClosed(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		p.bubble(t, saying(400, noMoney), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Handle, httptestx.Send(7), httptestx.Hang)
			resp, err := w.client(discerning()).Get(w.URL)
			is.NoErr(err)
			start := time.Now()
			is.NoErr(resp.Body.Close())
			is.Equal(time.Since(start), time.Duration(0)) // whoever reads comes back
		})
	})
}

func TestCallerMayLeaveWhileABodyIsLookedAt(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		p.bubble(t, saying(429, noMoney), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Handle, httptestx.Send(7), httptestx.Hang)
			ctx, cancel := context.WithTimeout(w.Context(), 50*time.Millisecond)
			defer cancel()
			r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
			start := time.Now()
			resp, err := w.client(discerning()).Do(r)
			is.Equal(time.Since(start), 50*time.Millisecond) // at once
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			is.True(errors.Is(err, context.DeadlineExceeded))
		})
	})
}

// Gemini says in the body how long to wait, others in rate limit headers.
func TestWaitIsReadWhereAServiceTellsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.Handler
		wait   time.Duration
	}{
		"in the body": {saying(429, `{"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "7.5s"}]}}`), 7500 * time.Millisecond},
		"in headers":  {saying(429, tooMuch, "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6s"), 6 * time.Second},
		"usual first": {saying(429, tooMuch, "Retry-After", "3", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6s"), 3 * time.Second},
		"nowhere":     {saying(429, tooMuch), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, c.answer, func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(discerning().Retry(resilient.MaxRetries(1))).Get(w.URL)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(eventsOf[resilient.RetryScheduled](w)[0].Delay, c.wait)
			})
		})
	}
}

// What was looked at is read to its end like any other before its connection is used again.
func TestConnectionOfALookedAtResponseIsUsedAgain(t *testing.T) {
	t.Parallel()
	bubble(t, saying(429, tooMuch), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(discerning()).Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(w.Exchanges()[2].Conn, 1) // all three attempts went over one
	})
}
