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

// tour is what it takes to call many authorities by one client.
type tour struct {
	bytes int           // all of them
	fresh time.Duration // a call to one that is not known
	known time.Duration // a call to the one that was called last
}

func visit(tb testing.TB, authorities int) tour {
	tb.Helper()
	before := heap()
	rt := transport(tb, resilient.New("crawler").PerAuthority().Registry(resilient.NewRegistry()).Transport(stub{}))
	begun := time.Now()
	var last *http.Request
	for i := range authorities {
		last = request(tb, "http://host"+strconv.Itoa(i)+".test/")
		call(tb, rt, last)
	}
	t := tour{fresh: time.Since(begun) / time.Duration(authorities)}
	const times = 1000
	begun = time.Now()
	for range times {
		call(tb, rt, last)
	}
	t.known = time.Since(begun) / times
	t.bytes = heap() - before
	runtime.KeepAlive(rt)
	return t
}

func TestStateOfAuthoritiesIsBounded(t *testing.T) { //nolint:paralleltest // memory is measured
	is := is.New(t)
	full, overfull := visit(t, 1024), visit(t, 5000)
	is.True(overfull.bytes < full.bytes+512<<10) // what is kept grows with every authority
}

func BenchmarkAuthorities(b *testing.B) {
	for _, n := range sizes() {
		b.Run("authorities="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				t := visit(b, n)
				b.ReportMetric(float64(t.bytes), "B/client")
				b.ReportMetric(float64(t.fresh), "ns/first-call")
				b.ReportMetric(float64(t.known), "ns/call")
			}
		})
	}
}
