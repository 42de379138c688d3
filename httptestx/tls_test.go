package httptestx_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// overTLS answers with what the handler sees of TLS.
var overTLS = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%v %s", r.TLS != nil && r.TLS.HandshakeComplete, r.Proto)
})

func both() (p http.Protocols) {
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

func TestHandlerKnowsOfTLS(t *testing.T) {
	onEachProtocol(t, overTLS, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		saw := fetch(srv, "/")
		is.Equal(saw, fmt.Sprintf("200 %v %s", strings.HasPrefix(srv.URL, "https://"), srv.Exchanges()[0].Proto)) // r.TLS as net/http sets it
	})
}

func TestTLSNegotiatesTheProtocolAsNetHTTPDoes(t *testing.T) {
	for _, start := range []string{"memory", "loopback"} {
		t.Run(start, func(t *testing.T) {
			is := is.New(t)
			opts := []httptestx.Option{httptestx.WithProtocols(both())}
			if start == "memory" {
				opts = append(opts, httptestx.WithTLS())
			}
			srv := httptestx.NewServer(t, overTLS, opts...)
			if start == "loopback" {
				srv.StartTLS()
			}
			is.Equal(fetch(srv, "/"), "200 true HTTP/2.0") // the best of both
			tr := srv.Client().Transport.(*http.Transport).Clone()
			defer tr.CloseIdleConnections()
			tr.Protocols = new(http.Protocols)
			tr.Protocols.SetHTTP1(true)
			resp, err := (&http.Client{Transport: tr}).Get(srv.URL)
			is.NoErr(err) // answered
			resp.Body.Close()
			is.Equal(srv.Exchanges()[1].Proto, "HTTP/1.1") // a client of HTTP/1 alone is served as well
		})
	}
}

func TestProtocolsOfCleartextAreThoseOfNetHTTP(t *testing.T) {
	is := is.New(t)
	p := both()
	p.SetUnencryptedHTTP2(true)
	srv := httptestx.NewServer(t, overTLS, httptestx.WithProtocols(p))
	is.Equal(fetch(srv, "/"), "200 false HTTP/1.1") // no prior knowledge where HTTP/1 will do
}

func TestServerWithTLSPlaysSeveralHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, okay, httptestx.WithTLS())
		for _, url := range []string{srv.URL, "https://payments.example", "https://stock.example:8443", "https://192.0.2.1"} {
			resp, err := srv.Client().Get(url)
			is.NoErr(err) // the certificate has the name, and is valid in the bubble's year 2000
			resp.Body.Close()
		}
		is.Equal(srv.URL, "https://httptestx.test") // the scheme says TLS
		is.Equal(srv.Exchanges()[1].Host, "payments.example")
	})
}

func TestTLSConfigMayBeSetBeforeTheStart(t *testing.T) {
	other := httptest.NewUnstartedServer(nil)
	other.StartTLS() // for its certificate
	defer other.Close()
	for _, start := range []string{"memory", "loopback"} {
		t.Run(start, func(t *testing.T) {
			is := is.New(t)
			var opts []httptestx.Option
			if start == "memory" {
				opts = append(opts, httptestx.WithTLS())
			}
			srv := httptestx.NewServer(t, okay, opts...)
			srv.TLS = &tls.Config{Certificates: other.TLS.Certificates, MaxVersion: tls.VersionTLS12}
			if start == "loopback" {
				srv.StartTLS()
			}
			resp, err := srv.Client().Get("https://example.com")
			is.NoErr(err) // the client trusts the certificate
			resp.Body.Close()
			is.True(resp.TLS.PeerCertificates[0].Equal(other.Certificate())) // which is the test's
			is.Equal(resp.TLS.Version, uint16(tls.VersionTLS12))             // as is the rest
		})
	}
}

func TestClientsWithoutTheCertificateDoNotTrustIt(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, okay)
	srv.StartTLS()
	_, err := http.Get(srv.URL)
	bad := &tls.CertificateVerificationError{}
	is.True(errors.As(err, &bad)) // as with any unknown authority
	is.Equal(len(srv.Exchanges()), 0)
}

func TestHTTPToAServerWithTLSIsAnsweredAsByNetHTTP(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, okay)
	srv.StartTLS()
	resp, err := http.Get(strings.Replace(srv.URL, "https", "http", 1))
	is.NoErr(err) // answered in cleartext
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	is.Equal(string(body), "Client sent an HTTP request to an HTTPS server.\n") // with the mistake
}

func TestSetupThatCannotServeFailsTheTest(t *testing.T) {
	var h2c, h2 http.Protocols
	h2c.SetUnencryptedHTTP2(true)
	h2.SetHTTP2(true)
	for _, tt := range []struct {
		opts  []httptestx.Option
		start func(*httptestx.Server)
		want  string
	}{
		{[]httptestx.Option{httptestx.WithTLS()}, (*httptestx.Server).Start,
			"httptestx: Start is in cleartext, and WithTLS was given: use StartTLS"},
		{[]httptestx.Option{httptestx.WithProtocols(h2)}, (*httptestx.Server).Start,
			"httptestx: Start: WithProtocols names none for cleartext: SetHTTP1 or SetUnencryptedHTTP2, or add WithTLS"},
		{[]httptestx.Option{httptestx.WithProtocols(h2c)}, (*httptestx.Server).StartTLS,
			"httptestx: StartTLS: WithProtocols names none for TLS: SetHTTP1 or SetHTTP2"},
	} {
		is := is.New(t)
		srv := httptestx.NewServer(newFakeT(t), okay, tt.opts...)
		is.Equal(fatal(func() { tt.start(srv) }), tt.want) // at once
	}
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, okay, httptestx.WithProtocols(h2))
	fetch(srv, "/")
	is.True(strings.Contains(ft.report(), "names none for cleartext")) // in memory at the first connection
}

func TestCloseSaysGoodbyeInTLS(t *testing.T) {
	for _, start := range []func(*httptestx.Server){func(*httptestx.Server) {}, (*httptestx.Server).StartTLS} {
		is := is.New(t)
		srv := httptestx.NewServer(t, okay, httptestx.WithTLS())
		start(srv)
		srv.On("/").Do(httptestx.Close)
		raw, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		seen := &recorder{Conn: raw}
		c := tls.Client(seen, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}) // 1.3 would hide the kinds of records
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		_, err = c.Read(make([]byte, 1))
		is.Equal(err, io.EOF) // the end
		last := byte(0)
		for b := seen.b; len(b) >= 5; b = b[5+int(b[3])<<8+int(b[4]):] {
			last = b[0]
		}
		is.Equal(last, byte(21)) // is announced by an alert: close_notify
	}
}

// recorder keeps what is read.
type recorder struct {
	net.Conn
	b []byte
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.b = append(r.b, p[:n]...)
	return n, err
}
