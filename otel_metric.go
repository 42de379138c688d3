package resilient

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// measures are the metrics of what a client decides. None has the host as an attribute: a client that calls many would make
// as many series.
type measures struct {
	client  string
	methods []string

	calls, attempts metric.Float64Histogram
	retries, denied metric.Int64Counter
	rejected, other metric.Int64Counter // by a gate, altogether and of one endpoint
	changes         metric.Int64Counter
	resends, bodies metric.Int64Counter
	waits           metric.Float64Histogram
}

func newMeasures(client string, m metric.Meter) *measures {
	return &measures{
		client:   client,
		methods:  knownMethods(),
		calls:    seconds(m, "resilient.call.duration", "Time from the beginning of a call to its response headers or final error, waits included."),
		attempts: seconds(m, "resilient.attempt.duration", "Time from the dispatch of an attempt to its response headers or failure."),
		retries:  counter(m, "resilient.retries", "{retry}", "Retries that were decided on, by what the attempt before ended with."),
		denied:   counter(m, "resilient.retries_denied", "{retry}", "Retries that would have been worth it and were not made, by reason."),
		rejected: counter(m, "resilient.rejections", "{rejection}", "Calls and attempts that a gate turned away."),
		other:    counter(m, "resilient.endpoint_skips", "{skip}", "Endpoints that were passed over for an attempt, by the gate that refused."),
		changes:  counter(m, "resilient.breaker_changes", "{change}", "Changes of a circuit breaker, by the state that it went to."),
		resends:  counter(m, "resilient.resends", "{request}", "Requests that were sent again within an attempt."),
		bodies:   counter(m, "resilient.bodies_cut", "{body}", "Response bodies that a limit on time has ended, by the limit."),
		waits:    seconds(m, "resilient.wait.duration", "Time that calls and attempts have waited at a gate, if they had to."),
	}
}

// seconds makes a histogram of durations. The bounds are those of the conventions for HTTP, and some for slower answers.
func seconds(m metric.Meter, name, description string) metric.Float64Histogram {
	h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(
		0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120))
	if err != nil {
		otel.Handle(err)
		return noop.Float64Histogram{}
	}
	return h
}

func counter(m metric.Meter, name, unit, description string) metric.Int64Counter {
	c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
		return noop.Int64Counter{}
	}
	return c
}

// count writes a decision down.
func (m *measures) count(ctx context.Context, e Event) {
	switch e := e.(type) {
	case CallDone:
		at := m.answered(place(m.client, ""), e.Request, e.Status, e.Err)
		m.calls.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(at...))
	case AttemptDone:
		at := m.answered(place(m.client, e.Endpoint), e.Request, e.status(), e.Err)
		m.attempts.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(at...))
	case RetryScheduled:
		m.add(ctx, m.retries, e.Failed.Endpoint, keyErrorType.String(e.Failed.ending()))
	case RetryDenied:
		m.add(ctx, m.denied, e.Failed.Endpoint, keyReason.String(e.Reason))
	case Rejected:
		m.add(ctx, m.rejected, "", keyGate.String(e.Gate))
	case EndpointSkipped:
		m.add(ctx, m.other, e.Endpoint, keyGate.String(e.Gate))
	case Waited:
		at := append(place(m.client, ""), keyGate.String(e.Gate))
		m.waits.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(at...))
	case BodyCut:
		m.add(ctx, m.bodies, e.Endpoint, keyErrorType.String(e.Limit))
	case BreakerChanged:
		m.add(ctx, m.changes, e.Endpoint, keyState.String(e.To))
	case Redispatched:
		m.add(ctx, m.resends, e.Failed.Endpoint, keyResend.String("redispatch"))
	case TransportReplay:
		m.add(ctx, m.resends, e.During.Endpoint, keyResend.String("replay"))
	}
}

func (m *measures) add(ctx context.Context, c metric.Int64Counter, endpoint string, why attribute.KeyValue) {
	c.Add(ctx, 1, metric.WithAttributes(append(place(m.client, endpoint), why)...))
}

// answered adds what was asked and what came of it. Of a function there is nothing but the error.
func (m *measures) answered(at []attribute.KeyValue, r *http.Request, status int, err error) []attribute.KeyValue {
	if r.Method != methodExecute {
		at = append(at, keyMethod.String(knownMethod(m.methods, r.Method)))
		if status != 0 {
			at = append(at, keyStatus.Int(status))
		}
	}
	if wrong := ending(status, err); wrong != "" {
		at = append(at, keyErrorType.String(wrong))
	}
	return at
}
