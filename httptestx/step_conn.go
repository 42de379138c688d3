package httptestx

import (
	"errors"
	"fmt"
)

// The steps of a connection, for [Server.OnConn]. [Delay], [Reset] and [Close] are others: Delay waits
// before the first byte is read, and Reset and Close come when the first bytes of the TLS handshake, or in
// cleartext of a request, are there, so that the client is connected for certain.
//
//nolint:gochecknoglobals // a step is a value, and assigned once
var (
	// Refuse refuses the connection, as a port that nobody listens on: in memory
	// the dial fails with ECONNREFUSED. On loopback the system has accepted a connection
	// before the server hears of it; there it is reset at once, before a byte is read, which the
	// client sees as ECONNRESET, from the dial or later.
	Refuse = Step{op: opRefuse}

	// Accept accepts the connection and stays silent, until the client goes away
	// or the server is closed: no handshake, no answer. What the client sends is discarded.
	Accept = Step{op: opAccept}

	// NoSuchHost fails the dial as a name that does not exist: with a [net.DNSError] whose
	// IsNotFound is true. It needs a server in memory; on loopback the system looks
	// names up, and it fails the test.
	NoSuchHost = Step{op: opNoSuchHost}
)

// HandshakeFail fails the TLS handshake with an alert (RFC 8446, section 6.2; 40 is
// handshake_failure, 80 internal_error) in answer to the client's first message. In cleartext it
// fails the test.
func HandshakeFail(alert uint8) Step { return Step{op: opHandshakeFail, n: int64(alert)} }

// connWords renders the steps of this file.
func (s Step) connWords() string {
	switch s.op {
	case opRefuse:
		return "refuse"
	case opAccept:
		return "accept"
	case opNoSuchHost:
		return "nosuchhost"
	}
	return fmt.Sprintf("handshakefail(%d)", s.n)
}

// connOnly reports whether s makes sense for a connection only.
func (s Step) connOnly() bool {
	return s.op == opRefuse || s.op == opAccept || s.op == opNoSuchHost || s.op == opHandshakeFail
}

// beforeConn reports whether s fails the dial.
func (s Step) beforeConn() bool { return s.op == opRefuse || s.op == opNoSuchHost }

// checkConn reports what is wrong with a plan for a connection, if anything. It needs
// no end: after Delay alone the connection is served.
func checkConn(plan []Step) error {
	_, err := connMistake(plan)
	return err
}

// connMistake is checkConn, with the place of the step that is wrong.
func connMistake(plan []Step) (at int, err error) {
	if len(plan) == 0 {
		return 0, errors.New("no step: want delay, refuse, accept, handshakefail, nosuchhost, reset or close")
	}
	for i, st := range plan {
		switch {
		case st.op == opNone || st.op == opInvalid:
			return i, errors.New(st.String())
		case i > 0 && plan[i-1].op != opDelay:
			return i, fmt.Errorf("%v after %v: a plan ends with %[2]v", st, plan[i-1])
		case !st.connOnly() && st.op != opDelay && st.op != opReset && st.op != opClose:
			return i, fmt.Errorf("%v is a step of a request: want delay, refuse, accept, handshakefail, nosuchhost, reset or close", st)
		}
	}
	return 0, nil
}
