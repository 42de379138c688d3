package resilient

import (
	"context"
	"net/http"
	"time"
)

// An Observer is told every decision about a call, as it is taken, with the
// context of the call's request. It runs on the goroutine of the call, after
// every lock is released: what it takes, the call waits for. It must be safe
// for concurrent use.
type Observer func(context.Context, Event)

// An Event is one decision: one of [AttemptDone], [RetryScheduled],
// [RetryDenied], [Redispatched], [TransportReplay], [EndpointSkipped], [Rejected], [BreakerChanged],
// [Waited], [CallDone] and [BodyCut]. Later versions may add kinds: a type switch over events needs a default.
type Event interface{ event() }

// Source says which client an event, and which of its shared state, is about.
type Source struct {
	// Client is the name given to New.
	Client string
	// Authority is scheme://host:port of the state used, or "" unless the
	// client keeps its state PerAuthority.
	Authority string
}

// AttemptDone is sent when an attempt has ended: response headers arrived, or
// it failed.
type AttemptDone struct {
	Source
	Attempt
}

// RetryScheduled is sent when a retry has been decided on, before its wait. It
// is charged to the budget already.
type RetryScheduled struct {
	Source
	// Failed is the attempt that is to be repeated.
	Failed Attempt
	// Delay is the wait before the retry is dispatched; 0 is at once.
	Delay time.Duration
	// RetryAfter says that the server asked for the delay.
	RetryAfter bool
}

// RetryDenied is sent when an attempt was worth a retry, or by its status looked so, and
// none was made. The caller gets the outcome of that attempt.
type RetryDenied struct {
	Source
	// Failed is the attempt that is not repeated.
	Failed Attempt
	// Reason is one of final, nested, disabled, attempts, method, ambiguous, body, retry_after,
	// deadline, circuit_open, rate_limited and budget_exhausted, asked in this order as a rule.
	// docs/strategies/retry.md says what to do about each.
	Reason string
}

// Redispatched is sent when a request is sent again at once because the pooled
// connection that it was to use turned out dead, with nothing processed. It is
// the same attempt: no retry, and nothing is charged. It happens once a call at most.
type Redispatched struct {
	Source
	// Failed is what the first dispatch ended with.
	Failed Attempt
}

// TransportReplay is sent when net/http has sent the request of an attempt again
// by itself, which it does to requests without a body when a pooled connection
// fails. It is charged to the budget, and net/http is stopped from doing so twice in
// one attempt; requests with a body that the server may have are never sent again.
type TransportReplay struct {
	Source
	// During is the attempt, with what it ended with.
	During Attempt
}

// EndpointSkipped is sent when an endpoint does not serve an attempt, which another one
// may do: its circuit is open, it has no tokens left, or it has asked to be left alone.
type EndpointSkipped struct {
	Source
	// Endpoint is the endpoint's name.
	Endpoint string
	// Gate is circuit_breaker, rate_limit or throttle.
	Gate string
	// RetryAfter is how long that will last at least; 0 is unknown.
	RetryAfter time.Duration
}

// Rejected is sent when a gate turned a call or an attempt away, so that it
// was not sent.
type Rejected struct {
	Source
	// Gate is concurrency_limit, endpoints, rate_limit or circuit_breaker.
	Gate string
	// RetryAfter is how long the gate will stay shut at least; 0 is unknown.
	RetryAfter time.Duration
}

// BreakerChanged is sent when a circuit breaker changed its state, by the call
// that made it; when it was changed by hand, with [Registry.Isolate] or Release, to the
// observers of all clients of the name, with [context.Background]. Changes of one breaker are
// told in their order: where two calls change it at once, one may be told a moment late, by
// the other.
type BreakerChanged struct {
	Source
	// Endpoint is the name of the one whose circuit it is, or empty if there are none.
	Endpoint string
	// From and To are closed, open, half-open or isolated.
	From, To string
	// Requests and Failures are what the window held at the change.
	Requests, Failures uint64
	// Break is how long the circuit stays open; 0 unless To is open.
	Break time.Duration
}

// Waited is sent when a call has waited at a gate, in the queue of the concurrency limit or for
// tokens of the rate limit. If it went on in vain, what follows says why.
type Waited struct {
	Source
	// Gate is concurrency_limit or rate_limit.
	Gate string
	// Duration is how long it has waited.
	Duration time.Duration
}

// BodyCut is sent when a limit on time has ended a response's body, to the Read that returns the
// error. It comes after the CallDone of its call.
type BodyCut struct {
	Source
	// Endpoint is the name of the one that the body came from, or empty if there are none.
	Endpoint string
	// Request is the caller's request. It must not be changed.
	Request *http.Request
	// Limit is body_idle or total_timeout.
	Limit string
	// After is how long the limit is.
	After time.Duration
}

// CallDone is sent when a call has its response headers or its final error.
// The body may still be on its way.
type CallDone struct {
	Source
	// Request is the caller's request. It must not be changed.
	Request *http.Request
	// Attempts is how many attempts were sent; 0 when a gate refused the call.
	Attempts int
	// Status is the response's, or 0 when there is none.
	Status int
	// Err is what the caller gets; nil when there is a response.
	Err error
	// Duration is the time since the call began, waits included.
	Duration time.Duration
}

func (AttemptDone) event()     {}
func (RetryScheduled) event()  {}
func (RetryDenied) event()     {}
func (Redispatched) event()    {}
func (TransportReplay) event() {}
func (EndpointSkipped) event() {}
func (Rejected) event()        {}
func (BreakerChanged) event()  {}
func (Waited) event()          {}
func (BodyCut) event()         {}
func (CallDone) event()        {}

// An Attempt is one dispatch of a call to the transport and what it ended with.
type Attempt struct {
	// Number is 1 for the first attempt of a call.
	Number int
	// Request is the caller's request. It must not be changed.
	Request *http.Request
	// Response is nil when the attempt failed without one. Its body belongs to
	// the caller of the client: it must be neither read nor closed.
	Response *http.Response
	// Err is nil when there is a response.
	Err error
	// Transient says that the outcome is worth a retry by the standard rule:
	// status 408, 429, 500 and above except 501 and 505, an attempt timeout, or
	// a transport error that may pass.
	Transient bool
	// Conclusion is what the outcome tells about side effects on the server.
	Conclusion Conclusion
	// Idempotent says that the request may be repeated whatever became of it: by its method, by its
	// Idempotency-Key, or because its context is [Replayable].
	Idempotent bool
	// Cause is what an error answer means, with [ReadCauses]: money, impossible,
	// content_filter, denied, rate, overloaded, conflict, timeout, invalid or server. Else it is empty.
	Cause string
	// Endpoint is the name of the one that it was sent to, or empty if there are none.
	Endpoint string
	// Sends is how many requests the server may have of this attempt: 0 if none
	// can have left, 1 as a rule, 2 after a [TransportReplay]. What was written to a
	// connection that was dead already counts, though it arrived nowhere.
	Sends int
	// Duration is the time from dispatch to response headers or failure.
	Duration time.Duration
	// Timeout is the attempt timeout that it ran under; 0 is none. See [WithAttemptTimeout].
	Timeout time.Duration
	// Cost is how many tokens it costs at the rate limit; 0 without one. See [WithCost].
	Cost int
}

// A Conclusion is what may be concluded from an attempt about the server's
// side effects.
type Conclusion uint8

const (
	// Unknown: the request may have been processed.
	Unknown Conclusion = iota
	// Unprocessed: the server has certainly not acted on the request, or says so.
	Unprocessed
	// Processed: the server answered for it.
	Processed
)

// String is unknown, unprocessed or processed.
func (c Conclusion) String() string {
	return [...]string{"unknown", "unprocessed", "processed"}[c]
}
