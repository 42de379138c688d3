package telemetry_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// What clients do is scraped over HTTP, as Prometheus does it, and compared with the guide: its table of metrics, and the
// expressions that it says to alert on.
func TestPrometheusScrapesWhatTheGuideSays(t *testing.T) {
	is := is.New(t)
	guide := read(t, "../docs/guides/observability.md")
	scraped := scrape(t)

	listed := map[string]string{} // by the name in Prometheus, the attributes
	for _, row := range tableWith(guide, "in Prometheus") {
		listed[row[1]] = row[3]
	}
	is.True(len(listed) > 15) // it is found
	for name, attributes := range listed {
		series, ok := scraped[name]
		if !ok {
			t.Errorf("the guide has %s, which is not scraped", name)
		}
		for label := range series {
			if label != "le" && !strings.HasPrefix(label, "otel_scope_") && !listedIn(attributes, label) {
				t.Errorf("%s has the label %s, which the guide does not say", name, label)
			}
		}
	}
	for name := range scraped {
		if _, ok := listed[name]; strings.HasPrefix(name, "resilient_") && !ok {
			t.Errorf("%s is scraped, and not in the guide", name)
		}
	}

	expressions := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(guide, -1)
	is.True(len(expressions) > 8) // they are found
	for _, e := range expressions {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(e[1])
		if err != nil {
			t.Errorf("%v in\n%s", err, e[1])
			continue
		}
		for _, selector := range parser.ExtractSelectors(expr) {
			checkSelector(t, scraped, selector)
		}
	}
}

// listedIn reports whether the cell of a table has the attribute that a label is made of.
func listedIn(cell, label string) bool {
	for attribute := range strings.SplitSeq(cell, ", ") {
		if strings.ReplaceAll(strings.Trim(attribute, "`"), ".", "_") == label {
			return true
		}
	}
	return false
}

// checkSelector asks for a metric, and for labels with values that a scrape has.
func checkSelector(t *testing.T, scraped map[string]map[string][]string, selector []*labels.Matcher) {
	t.Helper()
	name := ""
	for _, m := range selector {
		if m.Name == model.MetricNameLabel {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m.Value, "_count"), "_sum"), "_bucket")
		}
	}
	series, ok := scraped[name]
	if !ok {
		t.Errorf("an expression asks for %s, which is not scraped", name)
	}
	for _, m := range selector {
		if m.Name == model.MetricNameLabel {
			continue
		}
		found := false
		for _, value := range series[m.Name] {
			found = found || m.Matches(value)
		}
		if !found {
			t.Errorf("an expression asks for %s with %s, which no series has", name, m)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	is.New(t).NoErr(err)
	return string(text)
}

// tableWith returns the rows of the table that has a column of this title, without back quotes around a whole cell.
func tableWith(page, title string) (rows [][]string) {
	in := false
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i, c := range cells {
			if cells[i] = strings.TrimSpace(c); strings.Count(cells[i], "`") == 2 {
				cells[i] = strings.Trim(cells[i], "`")
			}
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case strings.Contains(line, title):
			in = true
		case in && !strings.HasPrefix(line, "| ---"):
			rows = append(rows, cells)
		}
	}
	return rows
}

// scrape has clients do everything that there is a metric for, and returns what Prometheus is told then: the values of each
// label, by metric.
func scrape(t *testing.T) map[string]map[string][]string {
	t.Helper()
	is := is.New(t)
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	is.NoErr(err)
	perform(t, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))

	endpoint := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer endpoint.Close()
	resp, err := http.Get(endpoint.URL)
	is.NoErr(err)
	defer resp.Body.Close()
	is.Equal(resp.StatusCode, 200)
	found := map[string]map[string][]string{}
	label := regexp.MustCompile(`([a-zA-Z_]\w*)="([^"]*)"`)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if strings.HasPrefix(name, "#") {
			continue
		}
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_sum"), "_bucket")
		if found[name] == nil {
			found[name] = map[string][]string{}
		}
		for _, m := range label.FindAllStringSubmatch(rest, -1) {
			found[name][m[1]] = append(found[name][m[1]], m[2])
		}
	}
	return found
}

// perform has clients retry, wait, refuse and all the rest.
func perform(t *testing.T, meters *sdkmetric.MeterProvider) {
	t.Helper()
	is := is.New(t)
	srv := httptestx.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }))
	clients := resilient.NewRegistry()
	build := func(b resilient.Builder) *http.Client {
		c, err := b.Transport(srv.Client().Transport).Registry(clients).OpenTelemetry(resilient.MeterProvider(meters)).Build()
		is.NoErr(err)
		return c
	}
	get := func(c *http.Client, path string) {
		if resp, err := c.Get("http://any.test" + path); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	all := resilient.New("orders").Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0), resilient.MaxRetryAfter(time.Second)).
		Concurrency(resilient.Permits(1), resilient.Queue(1)).Budget(resilient.RetryRatio(0.5), resilient.MinimumThroughput(3)).
		Timeout(resilient.BodyIdle(10 * time.Millisecond))
	orders := build(all)

	get(orders, "/ok")
	srv.On("/replayed").Script(httptestx.LostResponse, httptestx.Plan(httptestx.Handle))
	get(orders, "/replayed") // by net/http, on the connection of the call before
	srv.On("/busy").Do(httptestx.Unavailable(0)...)
	for range 3 {
		get(orders, "/busy") // within the budget, and then not
	}
	srv.On("/stuck").Do(httptestx.Handle, httptestx.Send(0), httptestx.Hang)
	get(orders, "/stuck") // until the body is cut

	held, err := orders.Get("http://any.test/held")
	is.NoErr(err)
	var calls sync.WaitGroup
	calls.Go(func() { get(orders, "/ok") }) // in the queue
	for clients.Snapshot()[0].Concurrency.Queued == 0 {
		runtime.Gosched()
	}
	get(orders, "/ok") // no place in it
	_ = held.Body.Close()
	calls.Wait()

	is.NoErr(clients.Isolate("orders"))
	get(orders, "/ok") // refused
	is.NoErr(clients.Release("orders"))

	srv.On("a.test/").Do(httptestx.Unavailable(time.Minute)...)
	places := build(resilient.New("places").RateLimit(resilient.PerMinute(2)).Endpoints(resilient.Ordered,
		resilient.Endpoint{URL: "http://a.test", Name: "a"}, resilient.Endpoint{URL: "http://b.test", Name: "b"}))
	for range 4 {
		get(places, "/ok") // a is throttled, and b runs out of tokens
	}
	p, err := resilient.New("database").Registry(clients).OpenTelemetry(resilient.MeterProvider(meters)).BuildPipeline()
	is.NoErr(err)
	_, _ = resilient.Execute(t.Context(), p, func(context.Context) (int, error) { return 1, nil })
}
