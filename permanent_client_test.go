package resilient_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"
)

// hashicorp/go-retryablehttp#201: what is wrong with a certificate, a name or a
// request is wrong on every attempt, however the error is wrapped. Nobody waits
// through a backoff for it.
func TestPermanentErrorsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	cert := &x509.Certificate{}
	for name, err := range map[string]error{
		"unknown authority":   x509.UnknownAuthorityError{Cert: cert},
		"expired certificate": x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired},
		"another host":        x509.HostnameError{Certificate: cert, Host: "x.test"},
		"failed verification": &tls.CertificateVerificationError{Err: errors.New("revoked")},
		"no roots":            &tls.CertificateVerificationError{Err: x509.SystemRootsError{Err: errors.New("none")}},
		"no TLS":              tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"HTTP instead of TLS": http.ErrSchemeMismatch,
		"alert":               &net.OpError{Op: "remote error", Err: tls.AlertError(42)},
		"no such host":        &net.DNSError{Err: "no such host", Name: "x.test", IsNotFound: true},
	} {
		for wrapping, wrap := range map[string]func(error) error{
			"bare":        func(err error) error { return err },
			"wrapped":     func(err error) error { return fmt.Errorf("signing: %w", err) },
			"in an error": func(err error) error { return &url.Error{Op: "Get", URL: "x", Err: err} },
			"joined":      func(err error) error { return errors.Join(errors.New("also"), err) },
		} {
			t.Run(name+" "+wrapping, func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(w *world) {
					is := is.New(w.T)
					attempts, want := 0, wrap(err)
					c := w.over(roundTripper(func(*http.Request) (*http.Response, error) {
						attempts++
						return nil, want
					}), retrying(every(time.Second)))
					start := time.Now()
					_, got := c.Get("http://x.test")
					var outer *url.Error
					is.True(errors.As(got, &outer))
					same := fmt.Sprint(outer.Err) == fmt.Sprint(want)
					is.True(same)                                 // the error says what it is
					is.Equal(attempts, 1)                         // one attempt is enough to know
					is.Equal(time.Since(start), time.Duration(0)) // and no wait
					is.Equal(w.denials(), []string(nil))          // it is not that a retry was denied
				})
			})
		}
	}
}
