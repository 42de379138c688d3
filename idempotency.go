package resilient

import (
	"context"
	"strconv"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/google/uuid"
)

// IdempotencyPolicy says how retries treat a request that is not idempotent, and so may do harm when it is processed twice.
// Idempotent are the methods GET, HEAD, OPTIONS, TRACE, PUT, DELETE and QUERY (RFC 9110, section 9.2.2), whatever has an
// Idempotency-Key or X-Idempotency-Key header, and what is marked [Replayable]. The zero policy makes no difference.
type IdempotencyPolicy struct {
	// UnprocessedOnly retries a request that is not idempotent only if the failed attempt was certainly not processed:
	// there was no connection, say, or the status is 503 or 429. After a timeout, which tells nothing, it is not retried.
	UnprocessedOnly bool

	// AmbiguousStatuses are the statuses, 100 to 999, after which such a request may have been processed, and is not
	// retried. Nil stands for all but 408, 421, 425, 429 and 503; with an empty list that is not nil, any response tells
	// that the request was not processed. They need UnprocessedOnly.
	AmbiguousStatuses []int

	// GenerateKeys gives a POST or PATCH without an Idempotency-Key one, a random UUID: the same for every attempt of a
	// call. It is for servers that know what to do with it (draft-ietf-httpapi-idempotency-key-header).
	GenerateKeys bool
}

// An IdempotencyOption changes one setting of an [IdempotencyPolicy].
type IdempotencyOption interface{ idempotency(*draft) }

type idempotencyFunc func(*draft)

func (f idempotencyFunc) idempotency(d *draft) { f(d) }

const (
	// UnprocessedOnly retries a request that is not idempotent only if it was certainly not processed. It sets
	// [IdempotencyPolicy].UnprocessedOnly.
	UnprocessedOnly idempotencySwitch = iota + 1

	// GenerateKeys gives a POST or PATCH without an Idempotency-Key one. It sets [IdempotencyPolicy].GenerateKeys.
	GenerateKeys
)

type idempotencySwitch int

func (s idempotencySwitch) idempotency(d *draft) {
	switch s {
	case UnprocessedOnly:
		d.Idempotency.UnprocessedOnly = true
	case GenerateKeys:
		d.Idempotency.GenerateKeys = true
	}
}

// AmbiguousStatuses names the statuses after which a request that is not idempotent may have been processed, 100 to 999
// each. Without one, any response tells that it was not. It sets [IdempotencyPolicy].AmbiguousStatuses, and
// UnprocessedOnly with it.
func AmbiguousStatuses(statuses ...int) IdempotencyOption {
	statuses = append([]int{}, statuses...) // not nil, which would be the standard rule
	return idempotencyFunc(func(d *draft) {
		d.Idempotency.UnprocessedOnly = true
		d.Idempotency.AmbiguousStatuses = statuses
	})
}

func (off) idempotency(d *draft) { d.Idempotency = IdempotencyPolicy{} }

func (p IdempotencyPolicy) off() bool {
	return !p.UnprocessedOnly && p.AmbiguousStatuses == nil && !p.GenerateKeys
}

func (d *draft) applyIdempotency(opts []IdempotencyOption) {
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Idempotency(%s)")
			continue
		}
		o.idempotency(d)
	}
}

// newKey returns what makes an Idempotency-Key, or nil if none is wanted.
func newKey(p IdempotencyPolicy) func() string {
	if !p.GenerateKeys {
		return nil
	}
	return uuid.NewString
}

func (d *draft) checkIdempotency() {
	p := d.Idempotency
	if p.AmbiguousStatuses != nil && !p.UnprocessedOnly {
		d.fault(ConfigError{
			Setting: "Idempotency(AmbiguousStatuses)",
			Rule:    "has no effect unless unprocessed requests alone are retried",
			Fix:     "set UnprocessedOnly as well",
		})
	}
	for _, status := range p.AmbiguousStatuses {
		if status < 100 || status > 999 {
			d.refuse("Idempotency(AmbiguousStatuses(%s))", strconv.Itoa(status), "must be 100 to 999", "a status has three digits, as 500")
		}
	}
}

// Replayable returns a context that marks the requests made with it as safe to repeat, whatever their method: as
// idempotent as a PUT. It is for a POST that only reads, or that the server is known to process once.
func Replayable(ctx context.Context) context.Context { return pipeline.WithReplayable(ctx) }
