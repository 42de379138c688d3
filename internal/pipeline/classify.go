package pipeline

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/cenkalti/backoff/v5"
)

// A Conclusion is what an attempt tells about side effects on the server.
type Conclusion uint8

// The conclusions; see ADR 0006.
const (
	Unknown Conclusion = iota
	Unprocessed
	Processed
)

// An outcome is what an attempt ended with, classified once.
type outcome struct {
	Response   *http.Response
	Err        error
	Duration   time.Duration
	Number     int32
	Sends      int32
	Conclusion Conclusion
	Transient  bool
	health     gate.Outcome // as the circuit breaker counts it
	final      bool         // by its cause, though the status is worth a retry
}

func (k *call) outcome(a *attempt) outcome {
	return outcome{Number: k.sent, Sends: a.gear.seen.count(), Duration: max(0, k.now-a.start)}
}

// lastAttempt is the last attempt as others see it.
func (k *call) lastAttempt() Attempt {
	o := &k.last
	a := Attempt{
		Number: int(o.Number), Request: k.req, Response: o.Response, Err: o.Err, Transient: o.Transient,
		Conclusion: o.Conclusion, Cause: "", Endpoint: k.at(), Sends: int(o.Sends), Duration: o.Duration,
		Timeout: k.allowed(LimitAttempt), Cost: 0, Idempotent: k.idempotent(),
	}
	if k.toll != nil {
		a.Cost = k.costs
	}
	if k.trouble != nil {
		a.Cause = k.cause
	}
	return a
}

// answered classifies a response.
func (k *call) answered(a *attempt, resp *http.Response) outcome {
	o := k.outcome(a)
	o.Response = resp
	o.Transient = transientStatus(resp.StatusCode)
	o.Conclusion = statusConclusion(resp.StatusCode)
	if o.Conclusion == Unprocessed && o.Sends > 1 {
		o.Conclusion = Unknown // it is an answer to the last send, and an earlier one may have been processed
	}
	if o.Transient {
		o.health = gate.Failure
	} else {
		o.health = gate.Success
	}
	return o
}

// transientStatus reports whether a status is worth a retry.
func transientStatus(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return code >= 500
}

// statusConclusion is what a status says about side effects. 408 is a request that did not arrive whole (RFC
// 9110 section 15.5.9), 421 one for another server (15.5.20), 425 one the
// server would not risk (RFC 8470 section 5.2), 429 and 503 say by convention
// that nothing was done.
func statusConclusion(code int) Conclusion {
	switch code {
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly,
		http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Unprocessed
	}
	if code >= 500 {
		return Unknown
	}
	return Processed
}

// failed classifies an error, by facts first: who left, which limit was
// reached, whose body failed, whether the transport got as far as a connection.
func (k *call) failed(a *attempt, err error) outcome {
	a.sent.seal()
	complete, bodyErr := a.sent.whole()
	o := k.outcome(a)
	o.Err = err
	o.health = gate.Ignored
	if !k.Opaque && (a.gear.seen.unsent() || !complete || a.gear.seen.got.Load() == 0 && dialing(err) || a.refused(err)) {
		o.Conclusion = Unprocessed
	}
	switch {
	case k.left():
	case a.alarm.rang():
		if a.limit == LimitAttempt {
			o.Transient, o.health = true, gate.Failure
		}
	case bodyErr != nil: // the caller's own fault
	case final(err): // in his own words
	case k.Errors.Refused(err): // by a gate of a client below: that says nothing about the server
		o.Transient = true
	case !a.gear.seen.asked.Load() && k.traces && !dialing(err):
		// The transport traces, and never asked for a connection: the request
		// itself would not do (scheme, header, host).
	default:
		lasting := permanent(err) && !a.garbled(err) || a.gear.seen.unsent() && barred(err)
		o.Transient, o.health = !lasting, gate.Failure
	}
	return o
}

// refused reports that the server has said that it did not look at the request:
// in HTTP/2's own words, or by a TLS alert about the client's certificate on a new
// connection, where it is the last answer to the handshake. On an older one it may
// come in the middle of anything, and so may any other alert.
// It is an answer to one send: of several, and of those that were not seen, an
// earlier one may have been processed.
func (a *attempt) refused(err error) bool {
	return a.gear.seen.got.Load() == 1 && (refused(err) || unwelcome(err) && !a.gear.seen.reused.Load())
}

// garbled reports what is no TLS on a connection whose handshake was good: the peer does
// speak it, and another connection may do better.
func (a *attempt) garbled(err error) bool {
	var record tls.RecordHeaderError
	return a.gear.seen.got.Load() > 0 && errors.As(err, &record)
}

// final reports that a function, or a transport, wants no retry: that says nothing
// about what it depends on.
func final(err error) bool {
	var permanent *backoff.PermanentError
	return errors.As(err, &permanent)
}

// dialing reports an error of getting a connection, by its type.
func dialing(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// permanent reports an error that a retry can't mend: the peer is not who it
// should be, speaks something else, or does not exist.
func permanent(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		dns       *net.DNSError
		address   *net.AddrError
		network   net.UnknownNetworkError
	)
	switch {
	case errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &hostname),
		errors.As(err, &invalid), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch),
		errors.As(err, &address), errors.As(err, &network):
		return true
	case errors.As(err, &dns):
		return dns.IsNotFound
	}
	text, ok := alert(err)
	return ok && !slices.Contains(passing, text)
}
