package resilient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

// retrying is a client that does nothing but retry, twice and at once unless
// the options say otherwise.
func retrying(options ...resilient.RetryOption) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).
		Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0)).Retry(options...)
}

// every has all waits take d.
func every(d time.Duration) resilient.RetryOption {
	return resilient.BackoffFunc(func() backoff.BackOff { return backoff.NewConstantBackOff(d) })
}

func TestStatusDecidesWhetherARetryIsWorthIt(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		transient  bool
		conclusion resilient.Conclusion
	}{
		200: {false, resilient.Processed},
		304: {false, resilient.Processed},
		400: {false, resilient.Processed},
		401: {false, resilient.Processed},
		404: {false, resilient.Processed},
		408: {true, resilient.Unprocessed},
		409: {false, resilient.Processed},
		421: {false, resilient.Unprocessed},
		425: {false, resilient.Unprocessed},
		429: {true, resilient.Unprocessed},
		500: {true, resilient.Unknown},
		501: {false, resilient.Unknown},
		502: {true, resilient.Unknown},
		503: {true, resilient.Unprocessed},
		504: {true, resilient.Unknown},
		505: {false, resilient.Unknown},
		511: {true, resilient.Unknown},
		529: {true, resilient.Unknown},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, always(status, ""), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(retrying()).Get(w.URL)
				is.NoErr(err) // a response is a response
				read(w.T, resp)
				is.Equal(resp.StatusCode, status) // whatever its status
				attempts := 1
				if want.transient {
					attempts = 3
				}
				is.Equal(w.arrived(), attempts) // one attempt, or one and two retries
				done := eventsOf[resilient.AttemptDone](w)
				is.Equal(len(done), attempts) // as many are told of
				for i, e := range done {
					is.Equal(e.Number, i+1)                 // attempts are counted from 1
					is.Equal(e.Transient, want.transient)   // and classified alike
					is.Equal(e.Conclusion, want.conclusion) // with what is known about side effects
				}
			})
		})
	}
}

// dialing is an error as a net.Dialer gives it.
func dialing(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

func TestConnectionThatCannotBeHadIsTriedAgainIfThatMayPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dial     error
		attempts int
	}{
		"refused":       {dialing(os.NewSyscallError("connect", syscall.ECONNREFUSED)), 3},
		"unreachable":   {dialing(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), 3},
		"timed out":     {dialing(os.ErrDeadlineExceeded), 3},
		"DNS not found": {dialing(&net.DNSError{Err: "no such host", Name: "orders.test", IsNotFound: true}), 1},
		"DNS temporary": {dialing(&net.DNSError{Err: "server misbehaving", Name: "orders.test", IsTemporary: true}), 3},
		"DNS timed out": {dialing(&net.DNSError{Err: "i/o timeout", Name: "orders.test", IsTimeout: true}), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				dials := 0
				base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					dials++
					return nil, c.dial
				}}
				_, err := w.over(base, retrying()).Get("http://orders.test")
				var outer *url.Error
				is.True(errors.As(err, &outer)) // the client's own wrapping
				is.Equal(outer.Err, c.dial)     // around the very error
				is.Equal(dials, c.attempts)     // after as many attempts
				is.Equal(outer.Op, "Get")       // in net/http's words
				for _, e := range eventsOf[resilient.AttemptDone](w) {
					is.Equal(e.Conclusion, resilient.Unprocessed) // nothing was sent
				}
			})
		})
	}
}

func TestLostConnectionIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string][]httptestx.Step{
		"reset":           httptestx.LostResponse,
		"closed":          httptestx.LostResponseEOF,
		"reset unread":    httptestx.ResetBeforeRead,
		"cut in a header": httptestx.Plan(httptestx.Read, httptestx.Close),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Script(plan, plan)
				resp, err := w.client(retrying()).Get(w.URL)
				is.NoErr(err)                   // the third attempt is answered
				is.Equal(read(w.T, resp), "ok") // in full
				is.Equal(w.arrived(), 3)        // after two that failed
			})
		})
	}
}

func TestUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	is := is.New(t)
	srv := httptest.NewUnstartedServer(always(200, "ok"))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	w := loopback(t, nil)
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	_, err := w.over(base, retrying()).Get(srv.URL)
	var verify *tls.CertificateVerificationError
	is.True(errors.As(err, &verify))                          // the error says what is wrong
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 1)      // and one attempt is enough to know
	is.True(!eventsOf[resilient.AttemptDone](w)[0].Transient) // for it will not pass
}

// What is wrong with the request itself is wrong on every attempt. The error is
// net/http's own, as it would be without us.
func TestImpossibleRequestIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*http.Request){
		"scheme":       func(r *http.Request) { r.URL.Scheme = "gopher" },
		"plain server": func(r *http.Request) { r.URL.Scheme = "https" },
		"header name":  func(r *http.Request) { r.Header["No Token"] = []string{"x"} },
		"header value": func(r *http.Request) { r.Header.Set("X", "a\nb") },
		"method":       func(r *http.Request) { r.Method = "NO TOKEN" },
		"host":         func(r *http.Request) { r.URL.Host = "" },
		"URL":          func(r *http.Request) { r.URL = nil },
		"trailer":      func(r *http.Request) { r.Trailer = http.Header{"No Token": nil} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				request := func() *http.Request {
					r, err := http.NewRequest("GET", w.URL, nil)
					is.NoErr(err) // a request without fault
					spoil(r)
					return r
				}
				start := time.Now()
				_, bare := w.Client().Do(request())
				_, got := w.client(retrying(every(time.Second))).Do(request())
				is.True(bare != nil)                                                                      // it is impossible indeed
				is.Equal(got.Error(), bare.Error())                                                       // the text is net/http's
				is.Equal(fmt.Sprintf("%T", errors.Unwrap(got)), fmt.Sprintf("%T", errors.Unwrap(bare)))   // and so is the type
				is.Equal(errors.Is(got, http.ErrSchemeMismatch), errors.Is(bare, http.ErrSchemeMismatch)) // and what it is
				is.True(len(eventsOf[resilient.AttemptDone](w)) <= 1)                                     // one attempt at most
				is.Equal(time.Since(start), time.Duration(0))                                             // and no wait
				is.Equal(w.denials(), []string(nil))                                                      // nobody is told that a retry was denied
			})
		})
	}
}

func TestTransportsRefusalOfARequestIsItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		for text, r := range map[string]*http.Request{
			"http: nil Request.URL":    {Header: http.Header{}},
			"http: nil Request.Header": {URL: &url.URL{Scheme: "http", Host: "orders.test"}},
		} {
			_, err := w.client(retrying().PerAuthority()).Transport.RoundTrip(r)
			is.Equal(err.Error(), text) // nobody looks at the request before net/http does
		}
	})
}

// A transport of one's own may fail before it asks net/http for a connection: a
// token could not be had, say. What went before must not decide what that means.
func TestErrorAboveTheConnectionIsTriedAgainWhateverWentBefore(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		tokenless := errors.New("no token could be had")
		var plan []error
		wrapped := &http.Transport{DialContext: w.DialContext, DisableKeepAlives: true}
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			var err error
			if len(plan) > 0 {
				err, plan = plan[0], plan[1:]
			}
			if err != nil {
				return nil, err
			}
			return wrapped.RoundTrip(r)
		})
		c := w.over(base, retrying())
		for range 2 {
			w.On("/").Script(httptestx.ResetBeforeRead) // a failure of net/http's own, after the token
			plan = []error{tokenless, nil}
			resp, err := c.Get(w.URL)
			is.NoErr(err) // both pass
			read(w.T, resp)
		}
		is.Equal(len(eventsOf[resilient.AttemptDone](w)), 6) // three attempts a call, the first time and the second
	})
}
