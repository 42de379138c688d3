package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

const observability = "docs/guides/observability.md"

// everyEvent has each kind of event, with every field that its line in the log depends on.
func everyEvent() []resilient.Event {
	s := resilient.Source{Client: "orders", Authority: "http://x.test:80"}
	r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "x.test"}}
	failed := resilient.Attempt{Number: 1, Request: r, Err: errors.New("any"), Cause: "rate"}
	answered := resilient.Attempt{Number: 1, Request: r, Response: &http.Response{StatusCode: 503}, Endpoint: "east"}
	return []resilient.Event{
		resilient.AttemptDone{Source: s, Attempt: failed},
		resilient.RetryScheduled{Source: s, Failed: answered},
		resilient.RetryDenied{Source: s, Failed: failed, Reason: "method"},
		resilient.Redispatched{Source: s, Failed: failed},
		resilient.TransportReplay{Source: s, During: failed},
		resilient.EndpointSkipped{Source: s, Endpoint: "east", Gate: "throttle"},
		resilient.Rejected{Source: s, Gate: "rate_limit"},
		resilient.BreakerChanged{Source: s, From: "closed", To: "open", Break: time.Second},
		resilient.Waited{Source: s, Gate: "rate_limit"},
		resilient.CallDone{Source: s, Request: r, Err: errors.New("any")},
		resilient.BodyCut{Source: s, Request: r, Limit: "body_idle"},
	}
}

func TestObservabilityGuideListsEveryReasonGateAndState(t *testing.T) {
	is := is.New(t)
	reasons, gates := reasonsAndGates(t)
	is.Equal(listed(t, observability, "reason"), reasons)
	is.Equal(listed(t, observability, "gate"), slices.Sorted(slices.Values(append(gates, "throttle"))))
	code := sources(t)
	for _, state := range listed(t, observability, "state") {
		is.True(strings.Contains(code, `"`+state+`"`)) // which the code has
	}
}

// The lines of the log are those that the guide has: their messages, levels and attributes.
func TestObservabilityGuideListsEveryEventAndWhatIsLogged(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("event.go")
	is.NoErr(err)
	var events []string
	for _, m := range regexp.MustCompile(`func \((\w+)\) event\(\)`).FindAllStringSubmatch(string(text), -1) {
		events = append(events, m[1])
	}
	slices.Sort(events)
	is.Equal(listed(t, observability, "event"), events)
	is.Equal(len(everyEvent()), len(events)) // the test has one of each

	attributes := map[string]bool{}
	lines := map[string]string{} // messages and levels
	observe := resilient.Slog(slog.New(handlerFunc(func(_ context.Context, r slog.Record) {
		lines[r.Message] = r.Level.String()
		r.Attrs(func(a slog.Attr) bool { attributes[a.Key] = true; return true })
	})))
	for _, e := range everyEvent() {
		observe(context.Background(), e)
	}
	for _, row := range pageAt(t, observability).tables() {
		levels := row.column("level")
		for i, c := range row.column("log message") {
			level := strings.ToUpper(strings.Fields(levels[i] + " ")[0])
			if strings.Contains(levels[i], "ends with an error") {
				level = "INFO" // as the one above does
			}
			is.Equal(lines[bare(c)], strings.Trim(level, ","))
			delete(lines, bare(c))
		}
	}
	is.Equal(lines, map[string]string{}) // all of them are there
	is.Equal(filled(listed(t, observability, "in logs")), sortedKeys(attributes))
}

func sortedKeys(set map[string]bool) (keys []string) {
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// filled are the cells that are not empty.
func filled(cells []string) []string {
	return slices.DeleteFunc(cells, func(c string) bool { return c == "" })
}

func TestObservabilityGuideListsEveryAttribute(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("otel.go")
	is.NoErr(err)
	var keys []string
	for _, m := range regexp.MustCompile(`attribute\.Key\("([^"]+)"\)`).FindAllStringSubmatch(string(text), -1) {
		keys = append(keys, m[1])
	}
	slices.Sort(keys)
	is.True(len(keys) > 20) // they are found
	is.Equal(filled(listed(t, observability, "attribute")), keys)
}

// The metrics of the guide are those of the code, with what they are called there. What Prometheus makes of their names is
// tested with a scrape, in the module telemetry.
func TestObservabilityGuideListsEveryMetric(t *testing.T) {
	is := is.New(t)
	var metrics []string
	for _, file := range []string{"otel_metric.go", "otel_state.go"} {
		text, err := os.ReadFile(file)
		is.NoErr(err)
		for _, m := range regexp.MustCompile(`"(resilient\.[a-z_.]+)"`).FindAllStringSubmatch(string(text), -1) {
			metrics = append(metrics, m[1])
		}
	}
	slices.Sort(metrics)
	is.Equal(listed(t, observability, "metric"), metrics)
}

// What failures are called is in failure.go, and in the guide.
func TestObservabilityGuideListsEveryEnding(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("failure.go")
	is.NoErr(err)
	page := pageAt(t, observability).text
	found := 0
	for _, m := range regexp.MustCompile(`(?:return|Limit\w+:|canceled =)\s+"([a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
		found++
		if !strings.Contains(page, fmt.Sprintf("| `%s` |", m[1])) {
			t.Errorf("the guide does not say what %s means", m[1])
		}
	}
	is.True(found > 8) // they are found
}
