package resilient_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// everything has all strategies on, and short timeouts.
func everything() resilient.Builder {
	return busy().Concurrency(resilient.Permits(10)).Breaker().RateLimit(resilient.PerMinute(1000)).
		Timeout(resilient.PerAttempt(time.Second), resilient.Total(2*time.Second), resilient.BodyIdle(time.Second), resilient.TotalIncludesBody(true))
}

// open-telemetry/opentelemetry-go-contrib#1329: an upgraded connection can be written
// to, and goes on for longer than any timeout, with all strategies on.
func TestUpgradedConnectionOutlivesEveryTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(echo), func(w *world) {
		is := is.New(w.T)
		resp := w.upgrade(w.client(everything()))
		is.Equal(resp.StatusCode, 101)
		conn, ok := resp.Body.(io.ReadWriteCloser)
		is.True(ok) // it can be written to
		lines := bufio.NewReader(conn)
		for range 3 {
			time.Sleep(time.Hour)
			_, err := io.WriteString(conn, "ping\n")
			is.NoErr(err)
			line, err := lines.ReadString('\n')
			is.NoErr(err)
			is.Equal(line, "ping\n")
		}
		is.NoErr(conn.Close())
		is.Equal(w.circuit().Failures, uint64(0))
		is.Equal(w.arrived(), 1) // it was never asked for again
	})
}

// As a reverse proxy does, which looks for a body that can be written to.
func TestUpgradeGoesThroughAReverseProxy(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(echo), func(behind *world) {
		is := is.New(behind.T)
		target, err := url.Parse(behind.URL)
		is.NoErr(err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.Transport = behind.client(everything()).Transport
		front := newWorldIn(behind.T, true, proxy)
		resp := front.upgrade(front.Client())
		conn := resp.Body.(io.ReadWriteCloser)
		time.Sleep(time.Hour)
		_, err = io.WriteString(conn, "ping\n")
		is.NoErr(err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		is.NoErr(err)
		is.Equal(line, "ping\n") // both ways, through two connections
		is.NoErr(conn.Close())
		synctest.Wait() // the proxy has seen it
	})
}
