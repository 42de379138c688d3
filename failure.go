package resilient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// canceled is what a call ended with whose caller left, or whose deadline passed.
const canceled = "canceled"

// totalTimeout is what a call ended with whose time was up.
const totalTimeout = "total_timeout"

// ending names what an attempt or a call went wrong with, in one of few words, and is "" if it did not: the error.type of
// OpenTelemetry. An answer is named by its status, as the conventions for HTTP have it: it went wrong from 400 on.
func ending(status int, err error) string {
	switch {
	case err != nil:
		return failure(err)
	case status >= http.StatusBadRequest:
		return strconv.Itoa(status)
	}
	return ""
}

// failure names an error. Its text is not used: it may say anything, and nobody knows what a transport puts there.
func failure(err error) string {
	if name := ownFailure(err); name != "" {
		return name
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return canceled
	}
	if name := networkFailure(err); name != "" {
		return name
	}
	return fmt.Sprintf("%T", root(err))
}

// ownFailure names an error of this package: the outermost one, for it may go back to others.
func ownFailure(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) { //nolint:errorlint // one after the other, from the outside
		case *interruptedError:
			return canceled
		case *RejectedError:
			return e.Gate
		case *timeoutError:
			return limitName(e.limit)
		}
	}
	return ""
}

// limitName is what a limit on time is called.
func limitName(l pipeline.Limit) string {
	return [...]string{
		pipeline.LimitTotal:    totalTimeout,
		pipeline.LimitAttempt:  "attempt_timeout",
		pipeline.LimitBodyIdle: "body_idle",
	}[l]
}

// networkFailure names what a connection can fail with.
func networkFailure(err error) string {
	var (
		dns     *net.DNSError
		op      *net.OpError
		timeout net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "dns"
	case untrusted(err):
		return "tls"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.As(err, &op) && op.Op == "dial":
		return "connect"
	case op != nil && (op.Op == "remote error" || op.Op == "local error"): // an alert
		return "tls"
	case op != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return "connection_lost"
	}
	return ""
}

// untrusted reports that the peer is not who it should be, or speaks no TLS.
func untrusted(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
		host   x509.HostnameError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &host)
}

// root is the innermost error.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
