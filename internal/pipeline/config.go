package pipeline

import (
	"context"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jonboulle/clockwork"
)

// Config is everything a pipeline is made from. It is complete: nothing here
// has a default, and a zero switches the part off that it belongs to.
type Config struct {
	// Opaque says that nothing can be known about what the base does but its error.
	Opaque bool

	Base   http.RoundTripper
	Clock  clockwork.Clock
	Pool   Pool
	Errors Errors
	// Listen returns who is told of a call with this context and state, nil if nobody is; itself nil, nobody ever is.
	Listen func(context.Context, *State) func(Event)
	// Start is told of a request that is about to be sent, which is the attempt's own but for its header, of its endpoint,
	// and of how many the call has sent before. It returns the context to send it with, and who is told what came of it:
	// nil if something panicked. Itself nil, nobody is told.
	Start func(r *http.Request, endpoint string, before int) (context.Context, func(*Attempt))

	Total             time.Duration
	TotalIncludesBody bool
	Attempt           time.Duration
	BodyIdle          time.Duration
	Causes            bool // look into error answers for what they mean
	Concurrency       bool
	Route             RouteConfig
	Rate              RateConfig
	Breaker           BreakerConfig
	Retry             RetryConfig
	Discard           DiscardConfig
	NewKey            func() string // nil: no Idempotency-Key is made up
}

// RateConfig is what the pipeline does around the token bucket gate.
type RateConfig struct {
	On      bool
	PerCall bool                      // a call takes its cost once, however many attempts it makes
	Wait    time.Duration             // longest wait for tokens; 0: none
	Cost    func(*http.Request) int64 // nil: 1
	Settle  bool                      // by the usage that responses tell of
	Heed    bool                      // what the server says that is left
}

// BreakerConfig is what the pipeline does around the circuit breaker gate.
type BreakerConfig struct {
	On bool
	// UntilRetryAfter makes a break last at least as long as the Retry-After
	// of the response that caused it.
	UntilRetryAfter bool
	// Duration replaces the length of a break; nil keeps the gate's own.
	Duration func(Break) time.Duration
}

// Break is what a custom break duration may depend on.
type Break struct {
	Requests, Failures uint64
	Breaks             uint64 // consecutive breaks before this one
	Attempt            Attempt
}

// RetryConfig is the retry loop and its gates.
type RetryConfig struct {
	Max        int // retries; 0 is off
	Backoff    func() backoff.BackOff
	If         func(Attempt) bool // nil: Attempt.Transient
	Budget     bool
	RetryAfter bool          // honour the server's Retry-After
	Longest    time.Duration // longest Retry-After accepted; 0: no limit of its own
	Methods    []string      // only these; nil: all
	Except     []string
	// Unprocessed restricts requests that are not idempotent to outcomes that
	// are not ambiguous.
	Unprocessed bool
	// Ambiguous are the statuses that count as ambiguous; nil: all whose
	// conclusion is not unprocessed.
	Ambiguous []int
	// BufferLimit is how many bytes of a body without GetBody are kept.
	BufferLimit int
}

// DiscardConfig bounds what is read from a response that nobody will see, so
// that its connection can be used again.
type DiscardConfig struct {
	Bytes int64
	Time  time.Duration
}

// Errors makes the errors that a caller sees. The words are the root's.
type Errors interface {
	// Rejected says that g is shut; the causes are what it was shut for.
	Rejected(g Gate, retryAfter time.Duration, causes ...error) error
	// Refused reports whether err is what Rejected makes, of whichever client.
	Refused(err error) bool
	// Skipped says that an endpoint did not serve an attempt.
	Skipped(endpoint string, g Gate, retryAfter time.Duration, causes ...error) error
	// TooLarge says that an attempt costs more than the rate limit ever holds.
	TooLarge(tokens, holds int64) error
	// NegativeCost says that an attempt costs less than nothing.
	NegativeCost(tokens int64) error
	// TimedOut says that the time l allows is over.
	TimedOut(l Limit, after time.Duration, cause error) error
	// Interrupted says that the caller left while the call was waiting.
	Interrupted(err, cause, last error) error
	// NoResponse says that the transport gave neither response nor error.
	NoResponse() error
	// Resent says that the transport sent the request twice, and was stopped
	// from doing so again.
	Resent() error
	// Status stands for a response where an error is needed.
	Status(code int) error
}

// A Limit names a bound on time.
type Limit uint8

// The limits on time.
const (
	LimitTotal Limit = iota
	LimitAttempt
	LimitBodyIdle
)

// An Attempt is one dispatch and what it ended with.
type Attempt struct {
	Number     int
	Request    *http.Request
	Response   *http.Response
	Err        error
	Transient  bool
	Conclusion Conclusion
	Cause      string // of an error answer; "" unless it was looked for
	Endpoint   string // "" if there are none
	Sends      int    // requests that the server may have of it
	Duration   time.Duration
	Timeout    time.Duration // the attempt timeout; 0: none
	Cost       int64         // tokens of the rate limit; 0 without one
	Idempotent bool
}

// Kind is the kind of an Event.
type Kind uint8

// The kinds, with the fields of Event that each one fills.
const (
	AttemptDone    Kind = iota // Attempt
	RetryScheduled             // Attempt, Delay, RetryAfter
	RetryDenied                // Attempt, Reason
	Rejected                   // Gate, Delay
	Skipped                    // Gate, Delay, Endpoint
	BreakerChanged             // Change
	Redispatched               // Attempt
	Replayed                   // Attempt
	Waited                     // Gate, Duration
	BodyCut                    // Limit, Delay, Attempt.Request, Endpoint
	CallDone                   // Attempts, Attempt.Response and Err, Duration
)
