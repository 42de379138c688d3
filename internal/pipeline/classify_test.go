package pipeline

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

func TestStatusesAreClassified(t *testing.T) {
	is := is.New(t)
	k := newCall(t, Config{})
	for code := 100; code < 1000; code++ {
		o := k.answered(&attempt{attemptContext: attemptContext{gear: &gear{}}}, &http.Response{StatusCode: code})
		transient := slices.Contains([]int{408, 429}, code) || code >= 500 && code != 501 && code != 505
		is.Equal(o.Transient, transient) // worth a retry
		want := Processed
		switch {
		case slices.Contains([]int{408, 421, 425, 429, 503}, code):
			want = Unprocessed
		case code >= 500:
			want = Unknown
		}
		is.Equal(o.Conclusion, want)                   // about side effects
		is.Equal(o.health == gate.Failure, transient)  // a failure is what is worth a retry
		is.Equal(o.health == gate.Success, !transient) // and all else is a success
	}
}

func TestPermanentErrors(t *testing.T) {
	is := is.New(t)
	wrap := func(err error) error {
		return fmt.Errorf("outer: %w", &net.OpError{Op: "dial", Err: fmt.Errorf("inner: %w", err)})
	}
	for _, err := range []error{
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		x509.UnknownAuthorityError{},
		x509.HostnameError{Host: "x.test", Certificate: &x509.Certificate{}},
		x509.CertificateInvalidError{},
		tls.RecordHeaderError{},
		http.ErrSchemeMismatch,
		&net.DNSError{IsNotFound: true},
	} {
		is.True(permanent(err))       // asking again does not mend it
		is.True(permanent(wrap(err))) // however deep it is
	}
	is.True(permanent(&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")})) // nor an alert
	for _, err := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED, net.ErrClosed,
		&net.DNSError{IsTemporary: true}, &net.DNSError{IsTimeout: true}, &net.DNSError{}, errors.New("other"),
	} {
		is.True(!permanent(err)) // this may pass
		is.True(!permanent(wrap(err)))
	}
}

func TestDialingIsToldByType(t *testing.T) {
	is := is.New(t)
	for _, row := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}, true},
		{&net.DNSError{}, true},
		{fmt.Errorf("outer: %w", &net.OpError{Op: "dial", Err: syscall.ECONNRESET}), true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false}, // the same error, when there was a connection
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, false},
		{errors.New("dial tcp: connection refused"), false}, // a text proves nothing
	} {
		is.Equal(dialing(row.err), row.want)
	}
}

// newCall is a call of a pipeline that is configured as far as the test cares.
func newCall(t *testing.T, c Config) *call {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://x.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	clock := clockwork.NewFakeClock()
	c.Clock = clock
	if c.Errors == nil {
		c.Errors = texts{}
	}
	return &call{
		Pipeline: &Pipeline{Config: c, lasting: &lasting{}},
		req:      req,
		state:    &State{Clock: clock, Epoch: clock.Now()},
		until:    unbounded,
	}
}

func TestFailuresAreClassifiedByFacts(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	for _, row := range []struct {
		name       string
		err        error
		asked, got bool   // what the trace saw
		silent     bool   // the transport does not trace
		body       string // of "order", what was read before it failed
		own        error  // the caller's body's
		left       bool
		rang       bool
		limit      Limit
		conclusion Conclusion
		transient  bool
		health     gate.Outcome
	}{
		{name: "reset after all was sent", err: reset, asked: true, got: true, body: "order",
			conclusion: Unknown, transient: true, health: gate.Failure},
		{name: "reset half-way", err: reset, asked: true, got: true, body: "ord",
			conclusion: Unprocessed, transient: true, health: gate.Failure},
		{name: "no connection", err: io.EOF, asked: true, body: "",
			conclusion: Unprocessed, transient: true, health: gate.Failure},
		{name: "no connection, by type", err: refused, silent: true, body: "order",
			conclusion: Unprocessed, transient: true, health: gate.Failure},
		{name: "a transport that does not trace", err: reset, silent: true, body: "order",
			conclusion: Unknown, transient: true, health: gate.Failure},
		{name: "an alert", err: alert, asked: true, got: true, body: "order",
			conclusion: Unprocessed, transient: false, health: gate.Failure},
		{name: "never asked for a connection", err: errors.New("bad header"), body: "",
			conclusion: Unprocessed, transient: false, health: gate.Ignored},
		{name: "the caller's body failed", err: reset, asked: true, got: true, body: "ord", own: errors.New("disk"),
			conclusion: Unprocessed, transient: false, health: gate.Ignored},
		{name: "the caller left", err: reset, asked: true, got: true, body: "order", left: true,
			conclusion: Unknown, transient: false, health: gate.Ignored},
		{name: "the caller left before there was a connection", err: context.Canceled, asked: true, left: true,
			conclusion: Unprocessed, transient: false, health: gate.Ignored},
		{name: "the attempt timed out", err: reset, asked: true, got: true, body: "order", rang: true, limit: LimitAttempt,
			conclusion: Unknown, transient: true, health: gate.Failure},
		{name: "the call timed out", err: reset, asked: true, got: true, body: "order", rang: true, limit: LimitTotal,
			conclusion: Unknown, transient: false, health: gate.Ignored},
		{name: "both the caller and the attempt", err: reset, asked: true, got: true, body: "order", left: true, rang: true,
			limit: LimitAttempt, conclusion: Unknown, transient: false, health: gate.Ignored},
	} {
		t.Run(row.name, func(t *testing.T) {
			is := is.New(t)
			k := newCall(t, Config{})
			k.traces = !row.silent
			ctx, cancel := context.WithCancel(k.ctx())
			defer cancel()
			k.req = k.req.WithContext(ctx)
			body := io.Reader(strings.NewReader("order"))
			if row.own != nil {
				body = io.MultiReader(strings.NewReader(row.body), iotest.ErrReader(row.own))
			}
			k.req.Body, k.req.ContentLength = io.NopCloser(body), 5
			k.body = sourceOf(k.req, true, 10)
			a := &attempt{attemptContext: attemptContext{gear: &gear{}, limit: row.limit}, sent: k.body.reader()}
			_, _ = io.ReadFull(a.sent, make([]byte, len(row.body)))
			if row.own != nil {
				_, err := a.sent.Read(make([]byte, 1))
				is.Equal(err, row.own)
			}
			a.gear.seen.asked.Store(row.asked)
			if row.got {
				a.gear.seen.got.Store(1)
				a.gear.seen.sends.Store(1)
			}
			if row.rang {
				a.alarm = setAlarm(k.Clock, 0, func() {})
				for !a.alarm.rang() {
					runtime.Gosched()
				}
			}
			if row.left {
				cancel()
			}
			o := k.failed(a, row.err)
			is.Equal(o.Err, row.err)
			is.Equal(o.Conclusion, row.conclusion)
			is.Equal(o.Transient, row.transient)
			is.Equal(o.health, row.health)
			_, err := a.sent.Read(make([]byte, 1))
			if len(row.body) == 5 {
				is.Equal(err, io.EOF) // there is no more
				return
			}
			is.Equal(err, errSealed) // and what was not handed out never will be
		})
	}
}

// A body that is not as long as it was said to be is refused by net/http: that
// is the caller's own fault.
func TestBodyOfAnotherLengthIsTheCallersFault(t *testing.T) {
	is := is.New(t)
	for _, row := range []struct {
		length   int64
		complete bool
		err      error
	}{{4, true, errLength}, {5, true, nil}, {6, false, errLength}, {-1, true, nil}, {0, true, nil}} {
		s := newSource(io.NopCloser(strings.NewReader("order")), row.length, 10)
		r := s.reader()
		_, err := io.ReadAll(r)
		is.NoErr(err)
		r.seal()
		complete, err := r.whole()
		is.Equal(complete, row.complete) // whether the server can have all of it
		is.Equal(err, row.err)           // and whose fault it is if not
		s.finish()
	}
}
