package resilient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/matryer/is"
)

func TestFailuresHaveFewNames(t *testing.T) {
	t.Parallel()
	w := words{"orders"}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	attempt := w.TimedOut(pipeline.LimitAttempt, time.Second, nil)
	open := w.Rejected(pipeline.GateBreaker, time.Second, attempt)
	for _, row := range []struct {
		err  error
		want string
	}{
		{attempt, "attempt_timeout"},
		{w.TimedOut(pipeline.LimitTotal, time.Second, open), "total_timeout"}, // and not what it goes back to
		{w.TimedOut(pipeline.LimitBodyIdle, time.Second, nil), "body_idle"},
		{open, "circuit_breaker"},
		{w.Rejected(pipeline.GateRate, 0), "rate_limit"},
		{w.Rejected(pipeline.GateConcurrency, 0), "concurrency_limit"},
		{w.Rejected(pipeline.GateEndpoints, 0, dial), "endpoints"},
		{w.Interrupted(context.Canceled, nil, open), "canceled"},
		{context.DeadlineExceeded, "canceled"}, // the caller's own
		{&url.Error{Op: "Get", URL: "/", Err: fmt.Errorf("below: %w", open)}, "circuit_breaker"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, "dns"},
		{dial, "connect"},
		{&net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}, "timeout"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection_lost"},
		{io.EOF, "connection_lost"},
		{fmt.Errorf("half a line: %w", io.ErrUnexpectedEOF), "connection_lost"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "tls"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "tls"},
		{errors.New("anything"), "*errors.errorString"}, // the type, of which a program has few
		{fmt.Errorf("told: %w", errors.ErrUnsupported), "*errors.errorString"},
	} {
		is.New(t).Equal(failure(row.err), row.want)
	}
}

func TestEndingOfAnAnswerIsItsStatus(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(ending(200, nil), "")
	is.Equal(ending(399, nil), "")
	is.Equal(ending(404, nil), "404")
	is.Equal(ending(503, nil), "503")
	is.Equal(ending(0, io.EOF), "connection_lost")
}

func TestRedactedURLsHaveNoUserAndNoValues(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"https://user:secret@host:8443/a%2Fb/?k=secret&k=&x": "https://REDACTED:REDACTED@host:8443/a%2Fb/?k=REDACTED&k=REDACTED&REDACTED",
		"http://host/#secret":                                "http://host/",
		"http://host?":                                       "http://host?",
		"http://host/?a=b=secret;c=":                         "http://host/?a=REDACTED",
		"mailto:secret@host":                                 "mailto:",
	} {
		u, err := url.Parse(from)
		is := is.New(t)
		is.NoErr(err)
		is.Equal(redacted(u), want)
	}
}
