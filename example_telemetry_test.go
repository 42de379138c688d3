package resilient_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/a-seed-e0941262/resilient"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// A line for each decision. Retries are of no interest to this program, unless they are denied.
func ExampleSlog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.LevelKey, slog.MessageKey, "client", "reason":
				return a
			}
			return slog.Attr{} // times, which differ from run to run, and what would make the lines too long for here
		},
	}))
	client := resilient.New("inventory").Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Transport(scripted(503)).Registry(resilient.NewRegistry()).
		Observe(resilient.Slog(logger, resilient.LogAt(slog.LevelDebug, resilient.RetryScheduled{}))).
		MustBuild()
	show(client.Get("http://inventory.example/"))
	// Output:
	// level=WARN msg="retry denied" client=inventory reason=attempts
	// 503
}

// Spans and metrics go to the global providers unless options say otherwise. Here nothing is kept, but the server still
// learns to which trace the request belongs.
func ExampleBuilder_OpenTelemetry() {
	client := resilient.New("inventory").
		OpenTelemetry(resilient.TracerProvider(tracenoop.NewTracerProvider()), resilient.MeterProvider(metricnoop.NewMeterProvider()),
			resilient.Propagator(propagation.TraceContext{})).
		Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			fmt.Println(r.Header.Get("Traceparent"))
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})).
		Registry(resilient.NewRegistry()).
		MustBuild()
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}, TraceFlags: trace.FlagsSampled,
	}))
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://inventory.example/", nil)
	show(client.Do(r))
	// Output:
	// 00-00000000000000000000000000000001-0000000000000002-01
	// 200
}
