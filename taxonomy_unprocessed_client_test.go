package resilient_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

// dials makes every dial fail.
func dials(err error) func(*http.Transport) {
	return func(b *http.Transport) {
		b.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
}

func silentDial(b *http.Transport) {
	b.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func misnamed(e net.DNSError) error {
	e.Name = "orders.test"
	return dialing(&e)
}

// proxy is one in between that can't be reached, or answers CONNECT so.
func proxy(answer string) func(*http.Transport) {
	return func(b *http.Transport) {
		b.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test"})
		b.DialContext = func(context.Context, string, string) (net.Conn, error) {
			if answer == "" {
				return nil, dialing(os.NewSyscallError("connect", syscall.ECONNREFUSED))
			}
			ours, its := net.Pipe()
			go func() {
				defer its.Close()
				if _, err := http.ReadRequest(bufio.NewReader(its)); err == nil {
					_, _ = io.WriteString(its, "HTTP/1.1 "+answer+"\r\nContent-Length: 0\r\n\r\n")
				}
			}()
			return ours, nil
		}
	}
}

// trusting changes what a client thinks of the server's certificate.
func trusting(change func(*tls.Config)) func(*http.Transport) {
	return func(b *http.Transport) {
		b.TLSClientConfig = b.TLSClientConfig.Clone()
		change(b.TLSClientConfig)
	}
}

// wantingCertificates makes the server want one of the client, in TLS of a version at most.
func wantingCertificates(version uint16) func(*httptestx.Server) {
	return func(s *httptestx.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: version} //nolint:gosec // the default is fine
	}
}

// beforeAConnection are the mishaps before there is a connection.
func beforeAConnection() []mishap {
	return unprocessed(
		mishap{name: "dial refused", conn: step(httptestx.Refuse), err: isErr(syscall.ECONNREFUSED)},
		mishap{name: "dial timeout", base: dials(dialing(os.ErrDeadlineExceeded)), err: isErr(os.ErrDeadlineExceeded)},
		mishap{name: "dial that hangs, attempt timeout", base: silentDial, setUp: impatient, err: isErr(resilient.ErrAttemptTimeout)},
		mishap{name: "dial that hangs, caller's deadline", base: silentDial, deadline: time.Second, err: isErr(context.DeadlineExceeded), permanent: true},
		mishap{name: "DNS NXDOMAIN", conn: step(httptestx.NoSuchHost), err: isA[*net.DNSError], permanent: true},
		mishap{name: "DNS SERVFAIL", base: dials(misnamed(net.DNSError{Err: "server misbehaving", IsTemporary: true})), err: isA[*net.DNSError]},
		mishap{name: "DNS REFUSED", base: dials(misnamed(net.DNSError{Err: "server misbehaving"})), err: isA[*net.DNSError]},
		mishap{name: "DNS timeout", base: dials(misnamed(net.DNSError{Err: "i/o timeout", IsTimeout: true, IsTemporary: true})), err: isA[*net.DNSError]},
		mishap{name: "proxy dial refused", on: onHTTP1, base: proxy(""), err: says("proxyconnect")},
		mishap{name: "proxy refuses CONNECT with 403", on: encrypted, base: proxy("403 Forbidden"), err: says("Forbidden"), permanent: true},
		mishap{name: "proxy refuses CONNECT with 407", on: encrypted, base: proxy("407 Proxy Authentication Required"), err: says("Proxy Authentication Required"), permanent: true},
		mishap{name: "proxy refuses CONNECT with 429", on: encrypted, base: proxy("429 Too Many Requests"), err: says("Too Many Requests")},
		mishap{name: "proxy refuses CONNECT with 502", on: encrypted, base: proxy("502 Bad Gateway"), err: says("Bad Gateway")},
		mishap{name: "proxy refuses CONNECT with 503", on: encrypted, base: proxy("503 Service Unavailable"), err: says("Service Unavailable")},
		mishap{name: "proxy refuses CONNECT in words of its own", on: encrypted, base: proxy("403 Not This Way"), err: says("Not This Way")},
		mishap{name: "wait for a connection, attempt timeout", on: onHTTP1, occupied: true, setUp: impatient, err: isErr(resilient.ErrAttemptTimeout)},
		mishap{name: "wait for a connection, caller's deadline", on: onHTTP1, occupied: true, deadline: time.Second, err: isErr(context.DeadlineExceeded), permanent: true},
		mishap{name: "RST at accept", on: inCleartext, conn: step(httptestx.Reset), err: lost, perhaps: true},
	)
}

// inAHandshake are those of TLS.
func inAHandshake() []mishap {
	return unprocessed(
		mishap{name: "TLS unknown CA", on: encrypted, base: trusting(func(c *tls.Config) { c.RootCAs = nil }), err: isA[*tls.CertificateVerificationError], permanent: true},
		mishap{
			name: "TLS expired", on: encrypted, base: trusting(func(c *tls.Config) {
				c.Time = func() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }
			}),
			err: isA[*tls.CertificateVerificationError], permanent: true,
		},
		mishap{name: "TLS plain HTTP peer", on: []protocol{h1}, scheme: "https", err: isA[tls.RecordHeaderError], permanent: true},
		mishap{name: "TLS RST in handshake", on: encrypted, conn: step(httptestx.Reset), err: lost},
		mishap{name: "TLS FIN in handshake", on: encrypted, conn: step(httptestx.Close), err: lost},
		mishap{
			name: "TLSHandshakeTimeout", on: encrypted, conn: step(httptestx.Accept),
			base: func(b *http.Transport) { b.TLSHandshakeTimeout = time.Second },
			err:  says("TLS handshake timeout"),
		},
		mishap{name: "TLS alert, no common version", on: encrypted, conn: step(httptestx.HandshakeFail(70)), err: says("remote error"), permanent: true},
		mishap{name: "TLS alert, internal error", on: encrypted, conn: step(httptestx.HandshakeFail(80)), err: says("remote error")},
		mishap{name: "TLS 1.2 client certificate rejected", on: encrypted, serve: wantingCertificates(tls.VersionTLS12), err: says("remote error"), permanent: true},
		mishap{
			// The alert races with the request, and may be lost with the connection.
			name: "TLS 1.3 client certificate rejected", on: encrypted, serve: wantingCertificates(tls.VersionTLS13),
			err: func(err error) bool {
				return says("remote error")(err) || says("client conn could not be established")(err) || lost(err)
			},
			perhaps: true,
		},
	)
}

// beforeTheWholeRequest are those before the server can have all of it.
func beforeTheWholeRequest() []mishap {
	return unprocessed(
		mishap{name: "Expect: 100-continue, reset without", wait: true, plan: step(httptestx.Reset), err: lost},
		mishap{name: "RST in the middle of an upload", body: large, plan: httptestx.ResetBeforeRead, err: lost},
		mishap{name: "FIN in the middle of an upload", body: large, plan: step(httptestx.Close), err: lost, perhaps: true}, // it may all have been taken
		mishap{name: "stalled upload, attempt timeout", body: large, plan: step(httptestx.Hang), setUp: impatient, err: isErr(resilient.ErrAttemptTimeout)},
		mishap{
			name: "stalled upload, caller's deadline", body: large, plan: step(httptestx.Hang), deadline: time.Second,
			err: isErr(context.DeadlineExceeded), permanent: true,
		},
		mishap{name: "RST_STREAM with REFUSED_STREAM", on: onHTTP2, plan: step(httptestx.RefuseStream), err: says("REFUSED_STREAM")},
		mishap{
			name: "GOAWAY last < our stream, NO_ERROR", on: onHTTP2, plan: step(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis)),
			err: says("GOAWAY"),
		},
		mishap{
			name: "GOAWAY last < ours, error code", on: onHTTP2, plan: step(httptestx.GoAway(httptestx.ErrCodeEnhanceYourCalm, httptestx.BeforeThis)),
			err: says("GOAWAY"),
		},
	)
}

func unprocessed(all ...mishap) []mishap { return concluding(resilient.Unprocessed, all) }

func concluding(c resilient.Conclusion, all []mishap) []mishap {
	for i := range all {
		all[i].conclusion = c
	}
	return all
}
