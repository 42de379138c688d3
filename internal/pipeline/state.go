package pipeline

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/jonboulle/clockwork"
)

// State is what all clients of one name share; with state per authority, one
// of these exists for each name and authority. A gate that is off is nil.
type State struct {
	Authority string // "" unless state is kept per authority

	Limit  *gate.Limit
	Budget *gate.Budget
	Lane   // of the attempts, unless there are several endpoints

	// Leases counts the calls that hold this state, from their start until
	// their body ends. The registry reads it to evict nothing that is in use.
	Leases atomic.Int64

	Clock clockwork.Clock
	Epoch time.Time // what Now counts from

	denied   [reasons]atomic.Uint64
	rejected [gates]atomic.Uint64
	recorder atomic.Pointer[Recorder]
}

// A Recorder is told of all that the calls of a state do, and when, on their goroutines.
type Recorder interface {
	Record(now time.Duration, e Event)
}

// RecordTo has every call that begins from now on told to r.
func (s *State) RecordTo(r Recorder) { s.recorder.Store(&r) }

// Recorder returns who is told of the calls; nil if nobody is.
func (s *State) Recorder() Recorder {
	if r := s.recorder.Load(); r != nil {
		return *r
	}
	return nil
}

// Now is the monotonic time since Epoch, the form in which gates are told it.
func (s *State) Now() time.Duration { return s.Clock.Since(s.Epoch) }

// Denied returns how many retries were denied for r.
func (s *State) Denied(r Reason) uint64 { return s.denied[r].Load() }

// Rejected returns how many calls or attempts g has turned away.
func (s *State) Rejected(g Gate) uint64 { return s.rejected[g].Load() }

// A Pool hands out the state for a request. Each Acquire is paired with one
// Release of what it returned.
type Pool interface {
	Acquire(*http.Request) *State
	Release(*State)
}

// A Gate names the strategy that turned a call or an attempt away.
type Gate uint8

// The gates, in the order in which a call meets them.
const (
	GateConcurrency Gate = iota
	GateEndpoints
	GateThrottle // of one endpoint
	GateRate
	GateBreaker
	gates
)

// Gates is the number of gates: 0 to Gates-1 are valid.
const Gates = int(gates)

func (g Gate) String() string {
	return [gates]string{"concurrency_limit", "endpoints", "throttle", "rate_limit", "circuit_breaker"}[g]
}

// A Reason tells why a retry was denied.
type Reason uint8

// The reasons, in the order in which they are looked at after an attempt.
const (
	ReasonFinal    Reason = iota // the answer's cause is not what its status says
	ReasonNested                 // a client above this one retries
	ReasonDisabled               // the caller wants none
	ReasonAttempts               // no retries left
	ReasonMethod
	ReasonAmbiguous
	ReasonBody
	ReasonRetryAfter
	ReasonDeadline
	ReasonCircuitOpen
	ReasonRate
	ReasonBudget
	reasons
)

// Reasons is the number of reasons: 0 to Reasons-1 are valid.
const Reasons = int(reasons)

func (r Reason) String() string {
	return [reasons]string{
		"final", "nested", "disabled", "attempts", "method", "ambiguous", "body", "retry_after", "deadline", "circuit_open", "rate_limited", "budget_exhausted",
	}[r]
}
