package resilient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// What may be concluded from each kind of outcome, and whether it is worth a
// retry: what an observer is told of the first attempt.
func TestOutcomesAreConcludedFromFacts(t *testing.T) {
	t.Parallel()
	dial := func(err error) http.RoundTripper {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errUnder}
	large := strings.Repeat("x", 8<<20)
	for _, row := range []struct {
		name       string
		plan       []httptestx.Step
		base       http.RoundTripper
		url        string
		body       string
		conclusion resilient.Conclusion
		transient  bool
	}{
		{"answered", nil, nil, "", "order", resilient.Processed, false},
		{"not found", httptestx.Plan(httptestx.Status(404)), nil, "", "order", resilient.Processed, false},
		{"refused", httptestx.Unavailable(0), nil, "", "order", resilient.Unprocessed, true},
		{"failed", httptestx.Plan(httptestx.Status(500)), nil, "", "order", resilient.Unknown, true},
		{"not implemented", httptestx.Plan(httptestx.Status(501)), nil, "", "order", resilient.Unknown, false},
		{"misdirected", httptestx.Plan(httptestx.Status(421)), nil, "", "order", resilient.Unprocessed, false},
		{"answer lost", httptestx.LostResponse, nil, "", "order", resilient.Unknown, true},
		{"answer lost, without a body", httptestx.LostResponse, nil, "", "", resilient.Unknown, true},
		{"answer lost, before it was processed", httptestx.ResetBeforeHandler, nil, "", "order", resilient.Unknown, true},
		{"half sent", httptestx.ResetBeforeRead, nil, "", large, resilient.Unprocessed, true},
		{"timed out", httptestx.Stall, nil, "", "order", resilient.Unknown, true},
		{"timed out half sent", httptestx.Plan(httptestx.Hang), nil, "", large, resilient.Unprocessed, true},
		{"no connection", nil, dial(refused), "http://x.test", "order", resilient.Unprocessed, true},
		{"no such host", nil, dial(&net.DNSError{IsNotFound: true}), "http://x.test", "order", resilient.Unprocessed, false},
		{"no answer of the name server", nil, dial(&net.DNSError{IsTemporary: true}), "http://x.test", "order", resilient.Unprocessed, true},
		{"unsupported scheme", nil, &http.Transport{}, "gopher://x.test", "order", resilient.Unprocessed, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, http.HandlerFunc(repeatBody), func(w *world) {
				is := is.New(w.T)
				if row.plan != nil {
					w.On("/").Do(row.plan...)
				}
				base, url := row.base, row.url
				if base == nil {
					base, url = w.Client().Transport, w.URL
				}
				c := w.over(base, resilient.New("orders").Defaults(resilient.None).Timeout(resilient.PerAttempt(time.Second)))
				if resp, err := c.Post(url, "text/plain", strings.NewReader(row.body)); err == nil {
					read(w.T, resp)
				}
				done := eventsOf[resilient.AttemptDone](w)
				is.Equal(len(done), 1)
				is.Equal(done[0].Conclusion, row.conclusion) // what it says about the server
				is.Equal(done[0].Transient, row.transient)   // and about another attempt
			})
		})
	}
}

// Certificates do not get better by asking again, whoever shows them.
func TestTLSFailuresArePermanentAndUnprocessed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		server func(*httptest.Server)
		client *tls.Config
		as     func(error) bool
	}{
		"unknown authority": {
			func(s *httptest.Server) { s.StartTLS() }, &tls.Config{},
			func(err error) bool { var e *tls.CertificateVerificationError; return errors.As(err, &e) },
		},
		"certificate of another host": {
			func(s *httptest.Server) { s.StartTLS() }, &tls.Config{ServerName: "other.test"},
			func(err error) bool { var e *tls.CertificateVerificationError; return errors.As(err, &e) },
		},
		"client certificate wanted": {
			func(s *httptest.Server) {
				// In TLS 1.3 the alert comes later, and may be lost with the connection.
				s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
				s.StartTLS()
			}, &tls.Config{InsecureSkipVerify: true},
			func(err error) bool { var e *net.OpError; return errors.As(err, &e) && e.Op == "remote error" },
		},
		"no TLS": {
			func(s *httptest.Server) {
				s.Start()
				s.URL = strings.Replace(s.URL, "http:", "https:", 1)
			}, &tls.Config{InsecureSkipVerify: true},
			func(err error) bool { return errors.Is(err, http.ErrSchemeMismatch) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := loopback(t, nil)
			server := httptest.NewUnstartedServer(http.HandlerFunc(repeatBody))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			row.server(server)
			defer server.Close()
			base := &http.Transport{TLSClientConfig: row.client}
			defer base.CloseIdleConnections()
			c := w.over(base, busy().Breaker(resilient.Off))
			_, err := c.Post(server.URL, "text/plain", strings.NewReader("order"))
			is.True(row.as(err)) // what it is can be asked
			done := eventsOf[resilient.AttemptDone](w)
			is.Equal(len(done), 1) // and it is not tried again
			is.Equal(done[0].Conclusion, resilient.Unprocessed)
		})
	}
}
