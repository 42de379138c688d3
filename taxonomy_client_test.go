package resilient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A mishap is something that a server or a network does to a POST, and what may be known of it then.
type mishap struct {
	name string
	on   []protocol // nil: all

	plan  []httptestx.Step // for the first request
	conn  []httptestx.Step // for the first connection
	base  func(*http.Transport)
	serve func(*httptestx.Server)
	body  func() io.Reader // nil: a few bytes
	wait  bool             // for a 100 Continue before the body is sent
	setUp func(resilient.Builder) resilient.Builder

	err        func(error) bool // nil: there is a response
	status     int
	conclusion resilient.Conclusion
	permanent  bool // no retry mends it
}

// retried reports whether a POST without a key is repeated by a careful client.
func (f mishap) retried() bool { return f.conclusion == resilient.Unprocessed && !f.permanent }

// The classes of errors. That of a lost connection depends on the protocol and on who notices first: net/http's
// own name for what it reads, or the kernel's for what it writes.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY and closed the connection")
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

func timedOut(err error) bool { return errors.Is(err, resilient.ErrAttemptTimeout) }

// large is a body that no buffer on the way takes in full.
func large() io.Reader { return strings.NewReader(strings.Repeat("x", 8<<20)) }

func silentDial(b *http.Transport) {
	b.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

var (
	encrypted = []protocol{h1TLS, h2TLS}
	onHTTP1   = []protocol{h1, h1TLS}
	onHTTP2   = []protocol{h2, h2TLS}
)

// mishaps are those of which it is certain that the server has not processed the request, those of which that is not
// known, and those to which it has answered.
func mishaps() []mishap {
	step := func(steps ...httptestx.Step) []httptestx.Step { return steps }
	status := func(code int) []httptestx.Step { return step(httptestx.Status(code)) }
	all := []mishap{
		// Certainly not processed:
		{name: "dial refused", conn: step(httptestx.Refuse), err: func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }, conclusion: resilient.Unprocessed},
		{name: "no such host", conn: step(httptestx.NoSuchHost), err: isA[*net.DNSError], conclusion: resilient.Unprocessed, permanent: true},
		{name: "dial that hangs", base: silentDial, setUp: impatient, err: timedOut, conclusion: resilient.Unprocessed},
		{
			name: "proxy refused", on: onHTTP1,
			base: func(b *http.Transport) {
				b.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test"})
				b.DialContext = func(context.Context, string, string) (net.Conn, error) {
					return nil, dialing(os.NewSyscallError("connect", syscall.ECONNREFUSED))
				}
			},
			err: says("proxyconnect"), conclusion: resilient.Unprocessed,
		},
		{
			name: "certificate of nobody", on: encrypted,
			base: func(b *http.Transport) { b.TLSClientConfig = &tls.Config{} }, //nolint:gosec // the default is fine
			err:  isA[*tls.CertificateVerificationError], conclusion: resilient.Unprocessed, permanent: true,
		},
		{name: "alert in the handshake", on: encrypted, conn: step(httptestx.HandshakeFail(70)), err: says("remote error"), conclusion: resilient.Unprocessed, permanent: true},
		{name: "reset in the handshake", on: encrypted, conn: step(httptestx.Reset), err: lost, conclusion: resilient.Unprocessed},
		{name: "end in the handshake", on: encrypted, conn: step(httptestx.Close), err: lost, conclusion: resilient.Unprocessed},
		{
			name: "silence in the handshake", on: encrypted, conn: step(httptestx.Accept),
			base: func(b *http.Transport) { b.TLSHandshakeTimeout = time.Second },
			err:  says("TLS handshake timeout"), conclusion: resilient.Unprocessed,
		},
		{
			name: "no certificate of the client's", on: encrypted,
			serve: func(s *httptestx.Server) {
				s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
			}, //nolint:gosec // the default is fine
			err: says("remote error"), conclusion: resilient.Unprocessed, permanent: true,
		},
		{name: "reset while waiting for 100", wait: true, plan: step(httptestx.Reset), err: lost, conclusion: resilient.Unprocessed},
		{name: "stream refused", on: onHTTP2, plan: step(httptestx.RefuseStream), err: says("REFUSED_STREAM"), conclusion: resilient.Unprocessed},
		{
			name: "GOAWAY below the stream", on: onHTTP2, plan: step(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis)),
			err: says("GOAWAY"), conclusion: resilient.Unprocessed,
		},
		{
			name: "GOAWAY with an error below the stream", on: onHTTP2, plan: step(httptestx.GoAway(httptestx.ErrCodeEnhanceYourCalm, httptestx.BeforeThis)),
			err: says("GOAWAY"), conclusion: resilient.Unprocessed,
		},
		{name: "reset during a large upload", body: large, plan: httptestx.ResetBeforeRead, err: lost, conclusion: resilient.Unprocessed},
		{name: "stall during a large upload", body: large, plan: step(httptestx.Hang), setUp: impatient, err: timedOut, conclusion: resilient.Unprocessed},

		// Nobody knows:
		{name: "reset before the request was read", plan: httptestx.ResetBeforeRead, err: lost, conclusion: resilient.Unknown},
		{name: "reset before the handler", plan: httptestx.ResetBeforeHandler, err: lost, conclusion: resilient.Unknown},
		{name: "end before the handler", plan: step(httptestx.Read, httptestx.Close), err: lost, conclusion: resilient.Unknown},
		{name: "answer lost by a reset", plan: httptestx.LostResponse, err: lost, conclusion: resilient.Unknown},
		{name: "answer lost by an end", plan: httptestx.LostResponseEOF, err: lost, conclusion: resilient.Unknown},
		{name: "no answer", plan: httptestx.Stall, setUp: impatient, err: timedOut, conclusion: resilient.Unknown},
		{
			name: "no headers in the transport's time", plan: httptestx.Stall,
			base: func(b *http.Transport) { b.ResponseHeaderTimeout = time.Second },
			err:  says("timeout awaiting response headers"), conclusion: resilient.Unknown,
		},
		{name: "1xx and then nothing", plan: step(httptestx.Informational(103), httptestx.Reset), err: func(error) bool { return true }, conclusion: resilient.Unknown},
		{
			name: "GOAWAY including the stream, and the end", on: onHTTP2,
			plan: step(httptestx.Handle, httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Close),
			err:  func(error) bool { return true }, conclusion: resilient.Unknown,
		},
	}
	for _, c := range []httptestx.ErrCode{
		httptestx.ErrCodeNo, httptestx.ErrCodeProtocol, httptestx.ErrCodeInternal, httptestx.ErrCodeFlowControl, httptestx.ErrCodeStreamClosed,
		httptestx.ErrCodeCancel, httptestx.ErrCodeEnhanceYourCalm, httptestx.ErrCodeInadequateSecurity, httptestx.ErrCodeHTTP11Required,
	} {
		all = append(all, mishap{
			name: "stream reset with " + c.String(), on: onHTTP2, plan: step(httptestx.Handle, httptestx.ResetStream(c)),
			err: says(c.String()), conclusion: resilient.Unknown,
		})
	}
	for _, m := range []httptestx.Malformation{httptestx.StatusLine, httptestx.Header, httptestx.ContentLength, httptestx.Garbage} {
		all = append(all, mishap{
			name: "malformed " + m.String(), on: onHTTP1, plan: step(httptestx.Handle, httptestx.Malformed(m)),
			err: func(error) bool { return true }, conclusion: resilient.Unknown,
		})
	}
	for code := 200; code < 600; code++ {
		switch {
		case http.StatusText(code) == "":
		case slices.Contains([]int{408, 429, 503}, code):
			all = append(all, mishap{name: "status", plan: status(code), status: code, conclusion: resilient.Unprocessed})
		case slices.Contains([]int{421, 425}, code): // which say so, too, and that another attempt is no use
			all = append(all, mishap{name: "status", plan: status(code), status: code, conclusion: resilient.Unprocessed, permanent: true})
		case code >= 500:
			all = append(all, mishap{name: "status", plan: status(code), status: code, conclusion: resilient.Unknown})
		case code >= 400 || code < 300:
			all = append(all, mishap{name: "status", plan: status(code), status: code, conclusion: resilient.Processed})
		}
	}
	return append(all, mishap{name: "answer cut in its body", plan: httptestx.TruncatedBody(2), status: 200, conclusion: resilient.Processed})
}

func impatient(b resilient.Builder) resilient.Builder {
	return b.Timeout(resilient.PerAttempt(2 * time.Second))
}

// What may be concluded from each fault, over each protocol, and that a careful client repeats a POST exactly when it
// is certain that the server has not processed it.
func TestWhatAFaultTellsOfThePost(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		for _, f := range mishaps() {
			if f.on != nil && !slices.Contains(f.on, p) {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, echoing(), func(w *world) { assertKnown(w, f) })
			})
		}
	})
}

func assertKnown(w *world, f mishap) {
	w.Helper()
	is := is.New(w.T)
	if f.conn != nil {
		w.OnConn().First(1).Do(f.conn...)
	}
	if f.plan != nil {
		w.On("/").First(1).Do(f.plan...)
	}
	if f.serve != nil {
		f.serve(w.Server)
	}
	base := w.Client().Transport.(*http.Transport)
	base.ExpectContinueTimeout = time.Hour
	if f.base != nil {
		f.base(base)
	}
	b := resilient.New("orders").Defaults(resilient.Conservative).Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Breaker(resilient.Off)
	if f.setUp != nil {
		b = f.setUp(b)
	}
	body := io.Reader(strings.NewReader("order"))
	if f.body != nil {
		body = f.body()
	}
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.URL, body)
	is.NoErr(err)
	if f.wait {
		r.Header.Set("Expect", "100-continue")
	}
	if resp, err := w.over(base, b).Do(r); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	first := eventsOf[resilient.AttemptDone](w)[0].Attempt
	if again := eventsOf[resilient.Redispatched](w); len(again) > 0 {
		first = again[0].Failed
	}
	is.Equal(first.Err == nil, f.err == nil) // whether there is a response
	if f.err != nil {
		if !f.err(first.Err) {
			w.Errorf("%q is not of the class that it should be", first.Err)
		}
	} else {
		is.Equal(first.Response.StatusCode, f.status)
	}
	is.Equal(first.Conclusion, f.conclusion)                              // what is known
	is.Equal(len(eventsOf[resilient.RetryScheduled](w)) > 0, f.retried()) // what follows from it
	is.True(w.handled() <= 1 || f.retried())                              // the order is not processed twice
	if f.plan != nil && first.Conclusion == resilient.Unprocessed && first.Err != nil {
		is.True(!w.Exchanges()[0].Handled) // and what is said is true
	}
}
