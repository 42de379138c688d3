package resilient_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// open-telemetry/opentelemetry-go-contrib#3543, the other half: the pool belongs to all
// calls. One that fails, however it does, closes no other host's idle connection.
func TestFailureClosesNoOtherHostsIdleConnection(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, plan := range map[string][]httptestx.Step{
			"refused": httptestx.Unavailable(0), "lost": httptestx.LostResponse,
			"timed out": httptestx.Stall, "in a body that stalls": httptestx.Plan(httptestx.Status(503), httptestx.Send(3), httptestx.Hang),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					scheme, _, _ := strings.Cut(w.URL, "//")
					good, bad := scheme+"//good.test", scheme+"//bad.test"
					w.On("bad.test/").Do(plan...)
					c := w.client(retrying().Timeout(resilient.PerAttempt(time.Second)).Breaker())
					for _, url := range []string{good, bad, good} {
						resp, err := c.Get(url)
						if url == good {
							is.NoErr(err) // the good one answers
						}
						if err == nil && url == good {
							read(w.T, resp)
						} else if err == nil {
							_ = resp.Body.Close()
						}
					}
					all := w.Exchanges()
					is.Equal(all[len(all)-1].Host, "good.test")
					is.Equal(all[len(all)-1].Conn, all[0].Conn) // over the connection that it had
				})
			})
		}
	})
}

// openai/openai-go#495: responses that are thrown away do not hold what the next
// attempt needs. There is one connection, or one stream of it, for all of them.
func TestOneConnectionIsEnoughForAllAttempts(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, h := range map[string]http.Handler{
			"small": failsWith(2, 100, false), "large": failsWith(2, 1<<20, true),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, h, func(w *world) {
					is := is.New(w.T)
					base := w.transport()
					base.MaxConnsPerHost = 1
					base.HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
					w.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
					start := time.Now()
					resp, err := w.over(base, retrying(every(time.Second))).Get(w.URL)
					is.NoErr(err)                              // the third is answered
					is.Equal(read(w.T, resp), "ok")            // in full
					is.Equal(time.Since(start), 2*time.Second) // nobody has waited for a connection
					is.True(p.http2 || name == "large" || w.conns()[2] == 1)
					is.True(!p.http2 || w.conns()[2] == 1) // over HTTP/2 it is the same in any case
				})
			})
		}
	})
}
