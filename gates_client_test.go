package resilient_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A denied is a call of which every gate but one would let a retry pass. It is
// a PUT by a client that would wait for 10 s, but for what is said.
type denied struct {
	reason   string
	policy   func(*world, resilient.Builder) resilient.Builder
	method   string
	opaque   bool // the body can't be had again
	deadline time.Duration
	status   int
	after    string // Retry-After
}

func deniedCalls() []denied {
	return []denied{
		{reason: "attempts", policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.Backoff(0, 0), resilient.MaxRetries(1))
		}},
		{reason: "method", policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.ExceptMethods("PUT"))
		}},
		{reason: "ambiguous", method: "POST", status: 500, policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Idempotency(resilient.UnprocessedOnly)
		}},
		{reason: "body", opaque: true, policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.BufferLimit(4))
		}},
		{reason: "retry_after", after: "61", policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.MaxRetryAfter(time.Minute))
		}},
		{reason: "deadline", policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Timeout(resilient.Total(10 * time.Second))
		}},
		{reason: "deadline", deadline: 10 * time.Second, policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b
		}},
		{reason: "circuit_open", policy: isolateAfterAnAttempt},
		{reason: "budget_exhausted", policy: func(_ *world, b resilient.Builder) resilient.Builder {
			return b.Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1))
		}},
	}
}

// isolateAfterAnAttempt opens the circuit between an attempt and the question
// of its retry.
func isolateAfterAnAttempt(w *world, b resilient.Builder) resilient.Builder {
	return b.Breaker(resilient.MinimumThroughput(2)).Observe(func(_ context.Context, e resilient.Event) {
		if _, ok := e.(resilient.AttemptDone); ok {
			_ = w.registry.Isolate("orders")
		}
	})
}

func (d denied) builder(w *world) resilient.Builder {
	return d.policy(w, retrying(every(10*time.Second)).Budget(resilient.MinimumThroughput(1), resilient.RetryRatio(1)))
}

// attempts is how many there are before the denial.
func (d denied) attempts() int {
	if d.reason == "attempts" {
		return 2
	}
	return 1
}

// request is the call's. Its bodies are closed once when the test ends.
func (d denied) request(w *world) *http.Request {
	ctx := w.Context()
	if d.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.deadline)
		w.Cleanup(cancel)
	}
	r, err := http.NewRequestWithContext(ctx, cmp.Or(d.method, "PUT"), w.URL, w.body())
	if err != nil {
		w.Fatal(err)
	}
	r.ContentLength = 5
	if !d.opaque {
		r.GetBody = func() (io.ReadCloser, error) { return w.body(), nil }
	}
	return r
}

// body is an order that must be closed once before the test ends.
func (w *world) body() io.ReadCloser {
	b := track("order")
	w.Cleanup(func() {
		if n := b.closed(); n != 1 {
			w.Errorf("a request body was closed %d times, want once", n)
		}
	})
	return b
}

func (d denied) handler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		rw.Header().Set("X-Id", "42")
		if d.after != "" {
			rw.Header().Set("Retry-After", d.after)
		}
		rw.WriteHeader(max(d.status, 429)) // 429 unless the row says otherwise
		_, _ = io.WriteString(rw, "quota")
	})
}

// told checks what must be known of the denial, wherever one looks.
func (d denied) told(w *world) {
	is := is.New(w.T)
	is.Equal(w.denials(), []string{d.reason}) // the reason is told, once
	for reason, n := range w.registry.Snapshot()[0].RetriesDenied {
		is.Equal(n == 1, reason == d.reason) // and is the only one counted
	}
	is.Equal(eventsOf[resilient.RetryDenied](w)[0].Failed.Number, d.attempts()) // with the attempt that is not repeated
	b := w.registry.Snapshot()[0].Budget
	is.Equal(b.Requests, uint64(1))             // the call is in the budget's books
	is.Equal(b.Retries, uint64(d.attempts()-1)) // a retry that was not made is not
	done := eventsOf[resilient.CallDone](w)
	is.Equal(len(done), 1)                       // the call is over
	is.Equal(done[0].Attempts, d.attempts())     // with its attempts
	is.Equal(done[0].Duration, time.Duration(0)) // and nobody waited
}

func TestDeniedRetryHandsBackTheLastResponse(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for i, d := range deniedCalls() {
			t.Run(d.reason+strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				p.bubble(t, d.handler(), func(w *world) {
					is := is.New(w.T)
					start := time.Now()
					resp, err := w.client(d.builder(w)).Do(d.request(w))
					is.NoErr(err)                                 // no error is made of a response
					is.Equal(resp.StatusCode, max(d.status, 429)) // it is the server's
					is.Equal(resp.Header.Get("X-Id"), "42")       // with its headers
					is.Equal(read(w.T, resp), "quota")            // and its body, of which nothing is gone
					is.Equal(time.Since(start), time.Duration(0)) // it came at once
					is.Equal(w.arrived(), d.attempts())           // nothing more was sent
					d.told(w)
				})
			})
		}
	})
}

// A fault is a transport's error of a type that nobody else has.
type fault struct{ message string }

func (f *fault) Error() string { return f.message }

func TestDeniedRetryHandsBackTheLastError(t *testing.T) {
	t.Parallel()
	for i, d := range deniedCalls() {
		if d.reason == "retry_after" {
			continue // for which there must be a response
		}
		t.Run(d.reason+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(w *world) {
				is := is.New(w.T)
				var last *fault
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Body != nil {
						_, _ = io.Copy(io.Discard, r.Body)
						_ = r.Body.Close()
					}
					last = &fault{"connection lost"}
					return nil, last
				})
				start := time.Now()
				_, err := w.over(base, d.builder(w)).Do(d.request(w))
				var outer *url.Error
				is.True(errors.As(err, &outer))               // net/http's own wrapping
				same := outer.Err == error(last)              //nolint:errorlint // the error itself, not one that wraps it
				is.True(same)                                 // around the very error of the last attempt
				is.True(errors.Is(err, last))                 // which is found
				is.Equal(time.Since(start), time.Duration(0)) // at once
				d.told(w)
			})
		})
	}
}

// Each gate stands in the way of this call. One after the other is opened, and
// the next one in that order is named.
func TestGatesAreAskedInOrderAndTheBudgetLast(t *testing.T) {
	t.Parallel()
	all := []denied{}
	for _, d := range deniedCalls() {
		if d.reason != "deadline" || d.deadline == 0 {
			all = append(all, d)
		}
	}
	for i, first := range all {
		t.Run(first.reason, func(t *testing.T) {
			t.Parallel()
			d := denied{reason: first.reason, method: "POST", status: 500}
			for _, gate := range all[i:] {
				d.opaque = d.opaque || gate.opaque
				if gate.after != "" {
					d.after = gate.after
				}
			}
			bubble(t, d.handler(), func(w *world) {
				is := is.New(w.T)
				b := retrying(every(10 * time.Second))
				for _, gate := range all[i:] {
					switch gate.reason {
					case "attempts": // a first retry must not get so far
						b = b.Retry(every(-1))
					case "method":
						b = b.Retry(resilient.ExceptMethods("POST"))
					default:
						b = gate.policy(w, b)
					}
				}
				resp, err := w.client(b).Do(d.request(w))
				is.NoErr(err) // it is answered
				read(w.T, resp)
				is.Equal(w.denials(), []string{first.reason}) // the first gate that is shut denies
				s := w.registry.Snapshot()[0]
				is.Equal(s.Budget.Requests, uint64(1)) // whichever it is, the call counts
				is.Equal(s.Budget.Retries, uint64(0))  // and the retry does not
			})
		})
	}
}
