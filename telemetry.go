package resilient

import (
	"context"
	"net/http"
	"slices"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// telemetry is what a client shows of itself. It is an interface so that a program that asks for none has none linked in.
type telemetry interface {
	// observer is told every decision.
	observer() Observer
	// starter is told of every request.
	starter() starter
	// show shows the state of the registry's clients. It is called without a lock.
	show(r *Registry)
}

// A starter is told of a request that is about to be sent, as pipeline.Config has it.
type starter = func(r *http.Request, endpoint string, before int) (context.Context, func(*pipeline.Attempt))

// audience is who is told every decision: the observers, and telemetry after them.
func (d *draft) audience() []Observer {
	if d.telemetry == nil {
		return d.observers
	}
	return append(slices.Clip(d.observers), d.telemetry.observer())
}

// start is who is told of requests, nil if nobody is.
func (d *draft) start() starter {
	if d.telemetry == nil {
		return nil
	}
	return d.telemetry.starter()
}

// status is the response's, or 0 when there is none.
func (a Attempt) status() int {
	if a.Response == nil {
		return 0
	}
	return a.Response.StatusCode
}

// ending names what went wrong, and is "" if nothing did.
func (a Attempt) ending() string { return ending(a.status(), a.Err) }

// kind is what an event is called in telemetry.
func kind(e Event) string {
	switch e.(type) {
	case AttemptDone:
		return "attempt_done"
	case RetryScheduled:
		return "retry_scheduled"
	case RetryDenied:
		return "retry_denied"
	case Redispatched:
		return "redispatched"
	case TransportReplay:
		return "transport_replay"
	case EndpointSkipped:
		return "endpoint_skipped"
	case Rejected:
		return "rejected"
	case BreakerChanged:
		return "breaker_changed"
	case Waited:
		return "waited"
	case BodyCut:
		return "body_cut"
	case CallDone:
		return "call_done"
	}
	return ""
}

// delaySource is what the length of a delay goes back to.
func delaySource(e RetryScheduled) string {
	if e.RetryAfter {
		return "retry_after"
	}
	return "backoff"
}
