package scale_test

import (
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// crowd is a registry of so many client names, what each of them takes, and what it takes to build and to use one more.
type crowd struct {
	bytes int           // a name
	tasks int           // goroutines, all of them
	build time.Duration // of a client whose name is there already
	call  time.Duration
}

func gather(tb testing.TB, names int) crowd {
	tb.Helper()
	registry := resilient.NewRegistry()
	before, tasks := heap(), runtime.NumGoroutine()
	clients := make([]http.RoundTripper, names)
	for i := range clients {
		clients[i] = transport(tb, member(registry, i))
	}
	c := crowd{bytes: (heap() - before) / names, tasks: runtime.NumGoroutine() - tasks}
	const times = 1000
	begun := time.Now()
	for i := range times {
		transport(tb, member(registry, i*7919%names))
	}
	c.build = time.Since(begun) / times
	r := request(tb, "http://x.test/")
	begun = time.Now()
	for i := range times {
		call(tb, clients[i*7919%names], r)
	}
	c.call = time.Since(begun) / times
	runtime.KeepAlive(registry)
	return c
}

func member(registry *resilient.Registry, i int) resilient.Builder {
	return resilient.New("dependency " + strconv.Itoa(i)).Defaults(resilient.Conservative).Registry(registry).Transport(stub{})
}

func TestNameTakesTheSameMemoryHoweverManyThereAre(t *testing.T) { //nolint:paralleltest // memory is measured
	is := is.New(t)
	few, many := gather(t, 500), gather(t, 5000)
	is.True(many.bytes < few.bytes*5/4) // a name takes more among many
	is.True(many.bytes < 16<<10)        // or takes much
	is.Equal(many.tasks, 0)             // or does something while nobody calls
}

func BenchmarkNames(b *testing.B) {
	for _, n := range sizes() {
		b.Run("names="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				c := gather(b, n)
				b.ReportMetric(float64(c.bytes), "B/name")
				b.ReportMetric(float64(c.tasks), "goroutines")
				b.ReportMetric(float64(c.build), "ns/build")
				b.ReportMetric(float64(c.call), "ns/call")
			}
		})
	}
}

// sizes are the points of a curve.
func sizes() []int {
	if large() {
		return []int{1000, 10_000, 100_000}
	}
	return []int{100, 1000, 10_000}
}
