package resilient_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A port that can't be is dialled on every attempt.
func TestPortThatCannotBeIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := loopback(t, nil)
	_, err := w.over(&http.Transport{}, retrying()).Get("http://127.0.0.1:99999")
	is.True(err != nil)                                  // dial tcp: address 99999: invalid port
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 1) // one attempt has shown it
}

// net/http wraps what an HTTPS proxy says in its handshake, see wrapErr in Transport.dialConn.
func TestAlertOfAnHTTPSProxyIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	alert := &net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "remote error", Err: tls.AlertError(116)}}
	_, err := w.over(roundTripper(func(*http.Request) (*http.Response, error) { return nil, alert }), retrying()).Get("http://x.test")
	is.True(err != nil)
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 1) // one attempt has shown it
}

// Over HTTP/2 the body of a response that has none is net/http's own, not http.NoBody: the permit and the
// attempt's context wait for a Close that callers leave out over HTTP/1 without harm.
func TestPermitIsFreeWhenThereIsNoBodyOverHTTP2(t *testing.T) {
	t.Parallel()
	h2TLS.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/204" {
			w.WriteHeader(204)
		}
	}), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0))
		for _, path := range []string{"/204", "/empty"} {
			resp, err := c.Get(w.URL + path)
			is.NoErr(err)
			inUse, _ := w.occupancy()
			is.Equal(inUse, 0) // GET
			_ = resp.Body.Close()
			resp, err = c.Head(w.URL + path)
			is.NoErr(err)
			inUse, _ = w.occupancy()
			is.Equal(inUse, 0) // HEAD
			_ = resp.Body.Close()
		}
	})
}
