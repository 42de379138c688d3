package httptestx_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestServerListensWhereItIsTold(t *testing.T) {
	is := is.New(t)
	first := httptestx.NewServer(t, ok, httptestx.WithAddress("127.0.0.1:0"))
	is.Equal(first.URL, "http://httptestx.test") // in memory until it is started
	first.Start()
	addr := first.URL[len("http://"):]
	_, err := net.Dial("tcp", addr)
	is.NoErr(err) // there it is
	second := httptestx.NewServer(newFakeT(t), ok, httptestx.WithAddress(addr))
	is.True(fatal(second.Start) != "") // an address that is taken fails the test, rather than be replaced by another
}

// Other clients than Go's look at the names: a certificate that is signed by its own name is taken for
// self-signed by OpenSSL.
func TestRootCAIsWhatOtherClientsTrust(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	srv.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(srv.RootCA())
	for _, name := range []string{"", "api.example.com"} {
		c, err := tls.Dial("tcp", srv.URL[len("https://"):], &tls.Config{RootCAs: roots, ServerName: name})
		is.NoErr(err) // trusted
		leaf := c.ConnectionState().PeerCertificates[0]
		is.True(string(leaf.RawSubject) != string(leaf.RawIssuer))        // by another name
		is.Equal(string(leaf.RawIssuer), string(srv.RootCA().RawSubject)) // which is the authority's
		c.Close()
	}
}
