package resilient

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the tracer and the meter.
const scope = "github.com/a-seed-e0941262/resilient"

// OpenTelemetry shows what the client does in spans and metrics:
//
//   - a span for each attempt, by the semantic conventions for HTTP clients; each attempt's request carries the context of
//     its own span;
//   - events on the span of the caller for what was decided in between: retries, denials, rejections, changes of the circuit;
//   - metrics of calls, attempts and decisions, and the state of all clients of the registry.
//
// They go to the global providers, unless options say otherwise, also to those that are set later. A span ends when the
// response headers are here. The user and the values of the query are left out of its url.full.
// docs/guides/observability.md has all names, and what they are good for.
//
// A transport that makes spans itself makes one within each of these. Used twice, the last word counts.
func (b Builder) OpenTelemetry(options ...OpenTelemetryOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) {
		t := &openTelemetry{client: d.name}
		for _, o := range options {
			if o == nil {
				d.refuseNil("OpenTelemetry(%s)")
				continue
			}
			o.openTelemetry(d, t)
		}
		d.telemetry = t
	})
}

// An OpenTelemetryOption says where spans and metrics go.
type OpenTelemetryOption interface{ openTelemetry(*draft, *openTelemetry) }

type openTelemetryFunc func(*draft, *openTelemetry)

func (f openTelemetryFunc) openTelemetry(d *draft, t *openTelemetry) { f(d, t) }

// TracerProvider sets where spans go: the global provider unless set. One of go.opentelemetry.io/otel/trace/noop has the
// client make none.
func TracerProvider(p trace.TracerProvider) OpenTelemetryOption {
	return openTelemetryFunc(func(d *draft, t *openTelemetry) {
		if p == nil {
			d.refuseNil("OpenTelemetry(TracerProvider(%s))")
		}
		t.tracers = p
	})
}

// MeterProvider sets where metrics go: the global provider unless set. One of go.opentelemetry.io/otel/metric/noop has the
// client keep none.
func MeterProvider(p metric.MeterProvider) OpenTelemetryOption {
	return openTelemetryFunc(func(d *draft, t *openTelemetry) {
		if p == nil {
			d.refuseNil("OpenTelemetry(MeterProvider(%s))")
		}
		t.meters = p
	})
}

// Propagator sets how the context of a span is written into the headers of its request: as the global propagator does
// unless set. The global one writes nothing until the program sets another.
func Propagator(p propagation.TextMapPropagator) OpenTelemetryOption {
	return openTelemetryFunc(func(d *draft, t *openTelemetry) {
		if p == nil {
			d.refuseNil("OpenTelemetry(Propagator(%s))")
		}
		t.propagator = p
	})
}

// openTelemetry is where the spans and metrics of a client go.
type openTelemetry struct {
	client     string
	tracers    trace.TracerProvider          // nil: the global one
	meters     metric.MeterProvider          // nil: the global one
	propagator propagation.TextMapPropagator // nil: the global one
}

func (t *openTelemetry) tracer() trace.Tracer {
	if t.tracers == nil {
		return otel.Tracer(scope)
	}
	return t.tracers.Tracer(scope)
}

func (t *openTelemetry) meter() metric.Meter {
	if t.meters == nil {
		return otel.Meter(scope)
	}
	return t.meters.Meter(scope)
}

// observer is what writes decisions down, as metrics and on the caller's span. The metrics are made with the first of them:
// a client is built under a lock of the registry, and a provider may want that, or have a lock of its own that it also holds
// while it asks for the state.
func (t *openTelemetry) observer() Observer {
	m := sync.OnceValue(func() *measures { return newMeasures(t.client, t.meter()) })
	return func(ctx context.Context, e Event) {
		m().count(ctx, e)
		if span := trace.SpanFromContext(ctx); span.IsRecording() {
			annotate(span, e)
		}
	}
}

// What attributes are called. Those without the prefix are of the semantic conventions, version 1.40; their package is not
// used, for it moves with each version.
const (
	keyClient      = attribute.Key("resilient.client")
	keyAuthority   = attribute.Key("resilient.authority")
	keyEndpoint    = attribute.Key("resilient.endpoint")
	keyAttempt     = attribute.Key("resilient.attempt")
	keyReason      = attribute.Key("resilient.reason")
	keyGate        = attribute.Key("resilient.gate")
	keyState       = attribute.Key("resilient.state")
	keyFrom        = attribute.Key("resilient.from")
	keyRequests    = attribute.Key("resilient.requests")
	keyFailures    = attribute.Key("resilient.failures")
	keyBreak       = attribute.Key("resilient.break")
	keyDelay       = attribute.Key("resilient.delay")
	keyDelaySource = attribute.Key("resilient.delay_source")
	keyRetryAfter  = attribute.Key("resilient.retry_after")
	keyWait        = attribute.Key("resilient.wait")
	keyLimit       = attribute.Key("resilient.limit")
	keyResend      = attribute.Key("resilient.resend")

	keyErrorType       = attribute.Key("error.type")
	keyMethod          = attribute.Key("http.request.method")
	keyMethodOriginal  = attribute.Key("http.request.method_original")
	keyResendCount     = attribute.Key("http.request.resend_count")
	keyStatus          = attribute.Key("http.response.status_code")
	keyProtocolVersion = attribute.Key("network.protocol.version")
	keyServerAddress   = attribute.Key("server.address")
	keyServerPort      = attribute.Key("server.port")
	keyURL             = attribute.Key("url.full")
)

// place is which client a decision is about, and which of its endpoints if it has several.
func place(client, endpoint string) []attribute.KeyValue {
	at := []attribute.KeyValue{keyClient.String(client)}
	if endpoint != "" {
		at = append(at, keyEndpoint.String(endpoint))
	}
	return at
}
