package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// failsafe-go/failsafe-go#123: the context of an attempt ends with its body, so that
// what comes late, and is more than any buffer holds, is read whole.
func TestLargeBodyThatComesLateIsReadWhole(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, end := range map[string]func(io.ReadCloser){
			"closed": func(b io.ReadCloser) { _ = b.Close() },
			"read":   func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					_ = http.NewResponseController(rw).Flush()
					time.Sleep(50 * time.Millisecond)
					_, _ = io.WriteString(rw, strings.Repeat("x", 1<<20))
				}), func(w *world) {
					is := is.New(w.T)
					var seen attempts
					c := w.over(seen.over(w.Client().Transport), busy().Timeout(resilient.PerAttempt(20*time.Millisecond), resilient.Total(30*time.Millisecond)))
					resp, err := c.Get(w.URL)
					is.NoErr(err) // the headers came in time
					got, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20-1))
					is.NoErr(err)               // and the body whenever it came
					is.Equal(len(got), 1<<20-1) // all but the last byte
					ctx := seen.all[0].Context()
					is.NoErr(ctx.Err()) // nobody has said that it is over
					end(resp.Body)
					is.True(ctx.Err() != nil) // now somebody has
					_ = resp.Body.Close()
				})
			})
		}
	})
}
