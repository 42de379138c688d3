package pipeline

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
)

// A streamError has the form of golang.org/x/net/http2.StreamError. That of
// net/http is not exported, but lets errors.As turn it into any type of this form.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream error" }

const refusedStream = 7 // RFC 9113 section 7

// refused reports that the peer of an HTTP/2 connection has said, or the
// transport knows, that nobody looked at the request (RFC 9113 section 8.7).
func refused(err error) bool {
	var stream streamError
	if errors.As(err, &stream) {
		return stream.Code == refusedStream
	}
	text := err.Error()
	if inner, ok := strings.CutPrefix(text, cannotRetry); ok {
		text, _, _ = strings.Cut(inner, cannotRetryEnd)
	}
	for _, t := range refusals {
		if strings.HasPrefix(text, t.begins) && strings.HasSuffix(text, t.ends) {
			return true
		}
	}
	return false
}

// What net/http tells in words only: golang/go#74578 asks for a type. It is all
// of it that decides anything here, and a test holds it against the Go version.
const (
	// Around the reason, for a request whose body net/http could not send again.
	cannotRetry    = "http2: Transport: cannot retry err ["
	cannotRetryEnd = "] after Request.Body was written"
	// Instead of the reason, where that was a connection to which nothing was
	// written or that gave the request back. Nothing else brings net/http to send a
	// body again that it can't have again.
	cannotRewind = "net/http: cannot rewind body after connection loss"
)

// unrewound reports that net/http would have sent the request again over another
// connection, but could not have the body again.
func unrewound(err error) bool { return err.Error() == cannotRewind }

//nolint:gochecknoglobals // only read
var refusals = []struct{ begins, ends string }{
	{"stream error: stream ID ", "; REFUSED_STREAM; received from peer"},
	// Of a stream above the last one that the peer says it has seen:
	{"http2: Transport received Server's graceful shutdown GOAWAY", ""},
	{"http2: Transport received GOAWAY from server ErrCode:", ""},
	// Of a connection that was lost before it was used:
	{"http2: client conn not usable", ""},
	{"http2: client conn could not be established", ""},
	{cannotRewind, ""},
}

// barred reports that a proxy has refused to CONNECT for good, be it that it does not
// know us: the request is not at fault, but that will not pass. net/http tells of such an
// answer only how its status is called.
func barred(err error) bool {
	text := err.Error()
	for code := http.StatusBadRequest; code < http.StatusInternalServerError; code++ {
		if text == http.StatusText(code) && text != "" {
			return !transientStatus(code)
		}
	}
	return false
}

// alert is what a TLS alert from the peer says. Its type is not exported.
func alert(err error) (text string, ok bool) {
	var op *net.OpError
	for errors.As(err, &op) {
		if op.Op == "remote error" {
			return strings.TrimPrefix(op.Err.Error(), "tls: "), true
		}
		err = op.Err // of a proxy, it is within another one
	}
	return "", false
}

// unwelcome reports an alert that the peer does not talk to us, by its words on our
// certificate. In TLS 1.3 it may come when the request has been written, but before
// anything of that was read.
func unwelcome(err error) bool {
	text, ok := alert(err)
	return ok && slices.Contains(unwelcomes, text)
}

//nolint:gochecknoglobals // only read
var (
	unwelcomes = []string{
		"bad certificate", "unsupported certificate", "revoked certificate", "expired certificate", "unknown certificate",
		"unknown certificate authority", "access denied", "certificate required",
	}
	// Alerts after which another connection may do better.
	passing = []string{
		"internal error", "bad record MAC", "decryption failed", "record overflow", "unexpected message", "user canceled", "close notify",
	}
)
