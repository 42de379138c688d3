package resilient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// What a call can end with that is not the transport's own error. Each is found
// with errors.Is through the *url.Error of the client.
var (
	// ErrCircuitOpen: the circuit breaker is open, or half-open with its probe
	// on the way, or isolated. Nothing was sent. See [RejectedError.RetryAfter].
	ErrCircuitOpen = errors.New("circuit breaker is open")
	// ErrConcurrencyLimit: all permits are taken and the queue is full. Nothing was sent.
	ErrConcurrencyLimit = errors.New("concurrency limit reached")
	// ErrRateLimited: the rate limit has no tokens left for the attempt. It was not sent. See [RejectedError.RetryAfter].
	ErrRateLimited = errors.New("rate limit reached")
	// ErrNoEndpoint: every endpoint has its circuit open, asked to be left alone, or has no tokens left. It was not sent.
	ErrNoEndpoint = errors.New("no endpoint is available")
	// ErrAttemptTimeout: the last attempt had no response headers in time. The
	// server may have processed it.
	ErrAttemptTimeout = errors.New("attempt timeout")
	// ErrTotalTimeout: the call, waits included, had no response headers in time
	// (or no complete body, with TotalIncludesBody). The server may have processed it.
	ErrTotalTimeout = errors.New("total timeout")
	// ErrBodyIdle: the response's body brought no bytes for too long. It comes
	// from reading the body.
	ErrBodyIdle = errors.New("body idle timeout")
)

// A RejectedError is a call or a retry that a gate did not let through. It
// unwraps to [ErrCircuitOpen], [ErrConcurrencyLimit], [ErrRateLimited] or [ErrNoEndpoint],
// and to what that goes back to: what opened the circuit, why each endpoint refused.
type RejectedError struct {
	// Client is the name given to New.
	Client string
	// Gate is concurrency_limit, endpoints, rate_limit or circuit_breaker.
	Gate string
	// RetryAfter is how long the gate will stay shut at least. Never negative;
	// 0 is not known.
	RetryAfter time.Duration

	causes []error // what the circuit was opened for, and what this call met itself
}

// Error names the client, the refusal, how long it lasts if that is known, and what it goes back to.
func (e *RejectedError) Error() string {
	s := fmt.Sprintf("resilient: client %q: %v", e.Client, e.sentinel())
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", retry after %v", e.RetryAfter)
	}
	return s + e.because()
}

// because is what the refusal goes back to.
func (e *RejectedError) because() string {
	n := len(e.causes)
	switch {
	case n == 0:
		return ""
	case e.Gate == pipeline.GateBreaker.String():
		return fmt.Sprintf(" (last failure: %s)", said(e.causes[n-1]))
	}
	reasons := make([]string, n)
	for i, c := range e.causes {
		reasons[i] = said(c)
	}
	return ": " + strings.Join(reasons, "; ")
}

// said is the text of an error without that of a client below, which begins with the whole URL: it may be the URL of another
// call, with its keys.
func said(err error) string {
	var client *url.Error
	if errors.As(err, &client) {
		return client.Op + ": " + said(client.Err)
	}
	return err.Error()
}

// Unwrap returns the sentinel and the failures that led to the refusal.
func (e *RejectedError) Unwrap() []error { return append([]error{e.sentinel()}, e.causes...) }

func (e *RejectedError) sentinel() error {
	switch e.Gate {
	case pipeline.GateConcurrency.String():
		return ErrConcurrencyLimit
	case pipeline.GateEndpoints.String():
		return ErrNoEndpoint
	case pipeline.GateThrottle.String():
		return errThrottled
	case pipeline.GateRate.String():
		return ErrRateLimited
	default:
		return ErrCircuitOpen
	}
}

// errThrottled is why an endpoint is passed over that has asked for it.
var errThrottled = errors.New("asked to be left alone")

// A skippedError is why an endpoint did not serve an attempt.
type skippedError struct {
	endpoint string
	why      *RejectedError
}

func (e *skippedError) Error() string {
	s := e.endpoint + ": " + e.why.sentinel().Error()
	if e.why.RetryAfter > 0 {
		s += fmt.Sprintf(" for %v", e.why.RetryAfter)
	}
	return s + e.why.because()
}

// Unwrap returns the sentinel and its causes, and not the RejectedError: the one that
// the call ends with is another.
func (e *skippedError) Unwrap() []error { return e.why.Unwrap() }

// words makes the errors of one client's calls.
type words struct{ client string }

func (w words) Rejected(g pipeline.Gate, retryAfter time.Duration, causes ...error) error {
	return &RejectedError{Client: w.client, Gate: g.String(), RetryAfter: retryAfter, causes: causes}
}

func (w words) Refused(err error) bool {
	var rejected *RejectedError
	return errors.As(err, &rejected)
}

func (w words) Skipped(endpoint string, g pipeline.Gate, retryAfter time.Duration, causes ...error) error {
	return &skippedError{endpoint: endpoint, why: &RejectedError{Client: w.client, Gate: g.String(), RetryAfter: retryAfter, causes: causes}}
}

func (w words) TooLarge(tokens, holds int64) error {
	return fmt.Errorf("it costs %d tokens, and the rate limit holds %d at most", tokens, holds)
}

func (w words) NegativeCost(tokens int64) error {
	return fmt.Errorf("resilient: client %q: a cost of %d tokens, by RateLimit(Cost) or WithCost: must be 0 or more", w.client, tokens)
}

func (w words) TimedOut(l pipeline.Limit, after time.Duration, cause error) error {
	if errors.Is(cause, context.Canceled) {
		cause = nil // it was the limit that cancelled; errors.Is must not say that the caller did
	}
	return &timeoutError{client: w.client, limit: l, after: after, cause: cause}
}

func (w words) Interrupted(err, cause, last error) error {
	return &interruptedError{client: w.client, err: err, cause: cause, last: last}
}

func (w words) NoResponse() error {
	return fmt.Errorf("resilient: client %q: the transport returned neither a response nor an error; "+
		"a RoundTripper must return one of them", w.client)
}

func (w words) Resent() error {
	return fmt.Errorf("resilient: client %q: the transport sent the request twice and was stopped from sending it again", w.client)
}

func (w words) Status(code int) error {
	return fmt.Errorf("status %d %s", code, http.StatusText(code))
}

// A timeoutError is one of our own limits on time.
type timeoutError struct {
	client string
	limit  pipeline.Limit
	after  time.Duration
	cause  error // what the transport said when it was cut; may be nil
}

func (e *timeoutError) sentinel() error {
	return [...]error{
		pipeline.LimitTotal:    ErrTotalTimeout,
		pipeline.LimitAttempt:  ErrAttemptTimeout,
		pipeline.LimitBodyIdle: ErrBodyIdle,
	}[e.limit]
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("resilient: client %q: %v after %v", e.client, e.sentinel(), e.after)
}

// Timeout and Temporary make it a net.Error, as net/http's timeouts are.
func (e *timeoutError) Timeout() bool   { return true }
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool {
	return target == e.sentinel() || target == context.DeadlineExceeded
}

func (e *timeoutError) Unwrap() error { return e.cause }

// An interruptedError is a caller who left while the call was waiting: the
// context's own error and cause, and what the call had come to.
type interruptedError struct {
	client           string
	err, cause, last error
}

func (e *interruptedError) Error() string {
	s := fmt.Sprintf("resilient: client %q: %v", e.client, e.err)
	if e.cause != nil && e.cause != e.err { //nolint:errorlint // the very same error adds nothing
		s += fmt.Sprintf(": %v", e.cause)
	}
	if e.last != nil {
		s += fmt.Sprintf(" while waiting to retry (last attempt: %s)", said(e.last))
	}
	return s
}

func (e *interruptedError) Timeout() bool { return errors.Is(e.err, context.DeadlineExceeded) }

func (e *interruptedError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.err, e.cause, e.last} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}
