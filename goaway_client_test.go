package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// golang/go#39086, golang/go#20985: a server that goes away, or refuses a stream, has
// not looked at the request. It is sent again with the whole of its body, and is
// processed once.
func TestPostThatAServerTurnsAwayIsSentAgainInFull(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 1<<16)
	for name, step := range map[string]httptestx.Step{
		"GOAWAY":         httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis),
		"REFUSED_STREAM": httptestx.RefuseStream,
	} {
		for size, body := range map[string]func() io.Reader{
			"1 MiB":           func() io.Reader { return strings.NewReader(large) },
			"little":          func() io.Reader { return strings.NewReader(large[:1000]) },
			"little, opaque":  func() io.Reader { return opaque(large[:1000]) }, // connectrpc/connect-go#541
			"without a body,": func() io.Reader { return nil },
		} {
			t.Run(name+" "+size, func(t *testing.T) {
				t.Parallel()
				h2TLS.bubble(t, echoing(), func(w *world) {
					is := is.New(w.T)
					w.On("POST /").Script(httptestx.Plan(step))
					want := ""
					if b := body(); b != nil {
						all, _ := io.ReadAll(b)
						want = string(all)
					}
					c := w.client(resilient.New("orders").Defaults(resilient.Conservative).Retry(every(time.Second)))
					resp, err := c.Post(w.URL, "text/plain", body())
					is.NoErr(err)                    // another connection, or stream, answers
					is.True(read(w.T, resp) == want) // byte for byte
					is.Equal(w.arrived(), 2)         // it was sent twice
					is.Equal(w.handled(), 1)         // and processed once
				})
			})
		}
	}
}

// What can't be had again is not sent again, and certainly not without its bytes.
func TestLargeUploadThatAServerTurnsAwayIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h2TLS.bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		w.On("POST /").Script(httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis)))
		r, _ := http.NewRequest("POST", w.URL, opaque(strings.Repeat("x", 1<<20)))
		r.ContentLength = 1 << 20
		_, err := w.client(retrying(every(time.Second))).Do(r)
		is.True(err != nil)                     // the caller is told
		is.Equal(w.arrived(), 1)                // of the one attempt
		is.Equal(w.handled(), 0)                // that nobody has processed
		is.Equal(w.denials(), []string{"body"}) // and that there is no second body for
	})
}

// The other way to lose a request before it is read: the pooled connection is dead.
// A body that was in memory all along is sent again.
func TestSmallBodyWithoutGetBodySurvivesADeadPooledConnection(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"POST", "PUT"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			bubble(t, echoing(), func(w *world) {
				is := is.New(w.T)
				c, network := w.warm(resilient.New("orders").Defaults(resilient.Conservative))
				network.breakAll()
				r, _ := http.NewRequest(method, w.URL, opaque("order"))
				resp, err := c.Do(r)
				is.NoErr(err)                      // the caller notices nothing
				is.Equal(read(w.T, resp), "order") // the body is whole
				is.Equal(w.arrived(), 2)           // the warming, and this one, once
			})
		})
	}
}
