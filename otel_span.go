package resilient

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// spans makes a span for each request that is sent.
type spans struct {
	client     string
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator // nil: the global one
	methods    []string                      // that are known
}

// starter makes the spans. The tracer is asked for with the first, for the reason that observer gives.
func (t *openTelemetry) starter() starter {
	s := sync.OnceValue(func() *spans {
		return &spans{client: t.client, tracer: t.tracer(), propagator: t.propagator, methods: knownMethods()}
	})
	return func(r *http.Request, endpoint string, before int) (context.Context, func(*pipeline.Attempt)) {
		return s().start(r, endpoint, before)
	}
}

// start begins the span of a request, and writes its context into the headers.
func (s *spans) start(r *http.Request, endpoint string, before int) (context.Context, func(*pipeline.Attempt)) {
	name, kind, attributes := s.describe(r, endpoint, before)
	ctx, span := s.tracer.Start(r.Context(), name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	if r.Method != methodExecute {
		s.inject(ctx, r)
	}
	return ctx, func(a *pipeline.Attempt) { finish(span, a) }
}

// describe is what is known of a request before it is sent. What a function does is not known here.
func (s *spans) describe(r *http.Request, endpoint string, before int) (string, trace.SpanKind, []attribute.KeyValue) {
	attributes := place(s.client, endpoint)
	if r.Method == methodExecute {
		return s.client, trace.SpanKindInternal, append(attributes, keyAttempt.Int(before+1))
	}
	if n := before + hops(r); n > 0 {
		attributes = append(attributes, keyResendCount.Int(n))
	}
	name, method := s.method(r.Method), s.method(r.Method)
	if method == otherMethod {
		name, attributes = "HTTP", append(attributes, keyMethodOriginal.String(r.Method))
	}
	a := authorityOf(r.URL)
	attributes = append(attributes, keyMethod.String(method), keyURL.String(redacted(r.URL)), keyServerAddress.String(a.host))
	if port, err := strconv.Atoi(a.port); err == nil {
		attributes = append(attributes, keyServerPort.Int(port))
	}
	return name, trace.SpanKindClient, attributes
}

// inject writes the context of the span into headers that are the attempt's own.
func (s *spans) inject(ctx context.Context, r *http.Request) {
	p := s.propagator
	if p == nil {
		p = otel.GetTextMapPropagator()
	}
	if len(p.Fields()) == 0 {
		return
	}
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	p.Inject(ctx, propagation.HeaderCarrier(r.Header))
}

// finish ends the span of an attempt that has its response headers or has failed; without one something panicked. The body
// is not waited for: callers may leave it unread, and then nobody knows when it ended.
func finish(span trace.Span, a *pipeline.Attempt) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	if a == nil {
		span.SetAttributes(keyErrorType.String("panic"))
		span.SetStatus(codes.Error, "panic")
		return
	}
	status := 0
	if r := a.Response; r != nil {
		status = r.StatusCode
		if a.Request.Method != methodExecute {
			span.SetAttributes(keyStatus.Int(status), keyProtocolVersion.String(protocol(r)))
		}
	}
	wrong := ending(status, a.Err)
	if wrong == "" {
		return
	}
	span.SetAttributes(keyErrorType.String(wrong))
	if a.Err == nil {
		wrong = "" // the status says it
	}
	span.SetStatus(codes.Error, wrong)
}

// protocol is the version of HTTP: 1.1, 2.
func protocol(r *http.Response) string {
	if r.ProtoMajor >= 2 && r.ProtoMinor == 0 {
		return strconv.Itoa(r.ProtoMajor)
	}
	return strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor)
}

// hops is how many redirects have led to the request. What was sent again before them is unknown here.
func hops(r *http.Request) int {
	n := 0
	for r.Response != nil && r.Response.Request != nil {
		r, n = r.Response.Request, n+1
	}
	return n
}

// otherMethod stands for methods that are not known, which could be any number.
const otherMethod = "_OTHER"

// method is the method, or otherMethod.
func (s *spans) method(m string) string { return knownMethod(s.methods, m) }

func knownMethod(known []string, m string) string {
	switch {
	case m == "":
		return http.MethodGet
	case slices.Contains(known, m):
		return m
	}
	return otherMethod
}

// knownMethods are those of RFC 9110 and 5789, and QUERY, unless the environment has others. Both are by the semantic
// conventions.
func knownMethods() []string {
	if list := os.Getenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodPatch,
		http.MethodOptions, http.MethodConnect, http.MethodTrace, "QUERY",
	}
}

// annotate writes a decision down on the caller's span. What became of an attempt is on the attempt's own.
func annotate(span trace.Span, e Event) {
	var source Source
	var endpoint string
	var more []attribute.KeyValue
	switch e := e.(type) {
	case RetryScheduled:
		source, endpoint = e.Source, e.Failed.Endpoint
		more = append(about(e.Failed), keyDelay.Float64(e.Delay.Seconds()), keyDelaySource.String(delaySource(e)))
	case RetryDenied:
		source, endpoint = e.Source, e.Failed.Endpoint
		more = append(about(e.Failed), keyReason.String(e.Reason))
	case Redispatched:
		source, endpoint, more = e.Source, e.Failed.Endpoint, about(e.Failed)
	case TransportReplay:
		source, endpoint, more = e.Source, e.During.Endpoint, about(e.During)
	case EndpointSkipped:
		source, endpoint = e.Source, e.Endpoint
		more = gated(e.Gate, e.RetryAfter)
	case Rejected:
		source, more = e.Source, gated(e.Gate, e.RetryAfter)
	case Waited:
		source, more = e.Source, []attribute.KeyValue{keyGate.String(e.Gate), keyWait.Float64(e.Duration.Seconds())}
	case BodyCut:
		source, endpoint = e.Source, e.Endpoint
		more = []attribute.KeyValue{keyErrorType.String(e.Limit), keyLimit.Float64(e.After.Seconds())}
	case BreakerChanged:
		source, endpoint = e.Source, e.Endpoint
		more = []attribute.KeyValue{
			keyFrom.String(e.From), keyState.String(e.To), keyRequests.Int64(int64(e.Requests)),
			keyFailures.Int64(int64(e.Failures)), keyBreak.Float64(e.Break.Seconds()),
		}
	default:
		return
	}
	attributes := append(place(source.Client, endpoint), more...)
	if source.Authority != "" {
		attributes = append(attributes, keyAuthority.String(source.Authority))
	}
	span.AddEvent("resilient."+kind(e), trace.WithAttributes(attributes...))
}

// about is which attempt it was, and what it ended with.
func about(a Attempt) []attribute.KeyValue {
	attributes := []attribute.KeyValue{keyAttempt.Int(a.Number)}
	if wrong := a.ending(); wrong != "" {
		attributes = append(attributes, keyErrorType.String(wrong))
	}
	return attributes
}

func gated(gate string, retryAfter time.Duration) []attribute.KeyValue {
	return []attribute.KeyValue{keyGate.String(gate), keyRetryAfter.Float64(retryAfter.Seconds())}
}
