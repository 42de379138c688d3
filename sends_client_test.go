package resilient_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A connection that is lost before anything was written to it has brought the
// server nothing, also of a request without a body: it is unprocessed, and repeated
// where one that may have been processed is not.
func TestRequestThatWasNotWrittenIsUnprocessed(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "order"} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			bubble(t, echoing(), func(w *world) {
				is := is.New(w.T)
				c := w.client(resilient.New("orders").Defaults(resilient.Conservative))
				r, report := w.reported("POST", body)
				lost := false
				ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
					if !lost {
						lost = true
						_ = i.Conn.Close()
						synctest.Wait() // the transport has noticed
					}
				}})
				resp, err := c.Do(r.WithContext(ctx))
				is.NoErr(err) // it is answered
				read(w.T, resp)
				first := eventsOf[resilient.AttemptDone](w)[0]
				is.Equal(first.Conclusion, resilient.Unprocessed)
				is.Equal(first.Sends, 0)
				is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 1) // it was repeated
				is.Equal(report.Sends(), 1)                             // one request was sent
				is.Equal(w.arrived(), 1)                                // and has arrived
			})
		})
	}
}

// A request that nothing could be sent of counts as none.
func TestAttemptWithoutAConnectionSendsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		r, report := w.reported("POST", "order")
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
		_, err := w.over(base, retrying(resilient.MaxRetries(1))).Do(r)
		is.True(err != nil)
		is.Equal(report.Attempts(), 2)
		is.Equal(report.Sends(), 0)
	})
}

// What net/http sends again by itself counts.
func TestReplayIsAFurtherSend(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		c, _ := w.warm(retrying(resilient.Off))
		before := w.arrived()
		w.On("/").Script(httptestx.LostResponse)
		ctx, report := resilient.WithReport(w.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		resp, err := c.Do(r)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(report.Attempts(), 1)
		is.Equal(report.Sends(), 2)
		is.Equal(w.arrived()-before, 2)
		is.True(strings.Contains(report.String(), "sent twice by net/http"))
	})
}
