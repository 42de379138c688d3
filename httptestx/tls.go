package httptestx

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority signs the certificates of servers that were not given one, for
// whatever name the client asks, so that one server can play several hosts over TLS as
// well. There is one in a process.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // by name
}

// theAuthority makes the authority at first use.
//
//nolint:gochecknoglobals // set once, and only read
var theAuthority = sync.OnceValue(newAuthority)

func newAuthority() *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("httptestx: " + err.Error()) //nolint:forbidigo // crypto/rand does not fail
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"httptestx"}, CommonName: "authority"},
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Unix(0, 0), // time in a synctest bubble begins in the year 2000
		NotAfter:              time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	a := &authority{key: key, leaves: make(map[string]*tls.Certificate)}
	a.cert = a.sign(template, template)
	return a
}

// sign cannot fail for the templates of this file.
func (a *authority) sign(template, parent *x509.Certificate) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &a.key.PublicKey, a.key)
	if err == nil {
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(der); err == nil {
			return cert
		}
	}
	panic("httptestx: " + err.Error()) //nolint:forbidigo // a mistake in this file
}

// certificate is a [tls.Config.GetCertificate]. A client that connects to an
// address sends no name, and gets a certificate for the addresses of both networks.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[hello.ServerName]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{
		Subject:      pkix.Name{Organization: a.cert.Subject.Organization}, // OpenSSL takes equal names for self-signed
		SerialNumber: big.NewInt(int64(len(a.leaves)) + 2),
		NotBefore:    a.cert.NotBefore,
		NotAfter:     a.cert.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if hello.ServerName != "" {
		template.DNSNames = []string{hello.ServerName}
	} else {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, memServerIP}
	}
	leaf := a.sign(template, a.cert)
	c := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: a.key, Leaf: leaf}
	a.leaves[hello.ServerName] = c
	return c, nil
}

// serverTLS completes the user's configuration of the server.
func serverTLS(base *tls.Config, protocols []string) *tls.Config {
	if base == nil {
		base = &tls.Config{}
	}
	cfg := base.Clone()
	if cfg.NextProtos == nil {
		cfg.NextProtos = protocols
	}
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
		cfg.GetCertificate = theAuthority().certificate
	}
	return cfg
}

// trust makes the client trust what the server shows: the authority from the
// beginning, the certificates of the user's configuration from the start.
func trust(roots *x509.CertPool, cfg *tls.Config) {
	for _, c := range cfg.Certificates {
		if len(c.Certificate) == 0 {
			continue
		}
		if cert, err := x509.ParseCertificate(c.Certificate[0]); err == nil {
			roots.AddCert(cert)
		}
	}
}
