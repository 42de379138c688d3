package httptestx

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"
)

// TestConnectionThatWasTakenOverIsClosed: net/http has forgotten it, so the server
// must not.
func TestConnectionThatWasTakenOverIsClosed(t *testing.T) {
	for name, end := range map[string][]Step{
		"end":   nil,
		"close": {Close},
		"reset": {Reset},
		"hang":  {Hang},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := NewServer(t, http.NotFoundHandler())
				srv.On("/").Do(append(Plan(SendRaw([]byte("raw"))), end...)...)
				c, err := srv.DialContext(t.Context(), "tcp", "")
				is.NoErr(err) // connected
				io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				io.ReadFull(c, make([]byte, 3))
				c.Close()
				synctest.Wait()
				srv.mu.Lock()
				defer srv.mu.Unlock()
				is.Equal(len(srv.conns), 0) // none is left open
			})
		})
	}
}
