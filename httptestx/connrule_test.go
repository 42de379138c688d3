package httptestx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// connTruths lists what a plain client sees of each step of a connection. h1TLS and the rest are
// empty where that is what h1 sees.
var connTruths = []struct {
	name                 string
	plan                 []httptestx.Step
	h1, h1TLS, h2TLS, h2 string
	loopback             string // "" where it is the same
}{
	{"Refuse", httptestx.Plan(httptestx.Refuse), "connect: connection refused", "", "", "", reset},
	{"Delay, Refuse", httptestx.Plan(httptestx.Delay(time.Millisecond), httptestx.Refuse), "connect: connection refused", "", "", "", reset},
	{"NoSuchHost", httptestx.Plan(httptestx.NoSuchHost), "lookup httptestx.test: no such host", "", "", "", "-"},
	{"Accept", httptestx.Plan(httptestx.Accept), "timeout", "", "", late, "-"},
	{"Reset", httptestx.Plan(httptestx.Reset), reset, "", "", "", ""},
	{"Close", httptestx.Plan(httptestx.Close), "EOF", "", "", "unexpected EOF", ""},
	{"Delay", httptestx.Plan(httptestx.Delay(time.Millisecond)), `201 after "": "placed"`, "", "", "", ""},
}

func TestEachStepOfAConnectionHasOneTruthOnEachProtocol(t *testing.T) {
	for _, tt := range connTruths {
		for i, p := range wireProtocols {
			saw := []string{tt.h1, tt.h1TLS, tt.h2TLS, tt.h2}[i]
			if saw == "" {
				saw = tt.h1
			}
			served := 0
			if strings.HasPrefix(saw, "201") {
				served = 1
			}
			t.Run(tt.name+"/"+p.name+" memory", func(t *testing.T) {
				for range 20 {
					synctest.Test(t, func(t *testing.T) {
						is := is.New(t)
						srv := p.memory(t, place)
						srv.OnConn().Do(tt.plan...)
						is.Equal(unread.Replace(postOrder(t.Context(), srv)), saw) // exactly, in every run
						is.Equal(len(srv.Exchanges()), served)                     // no request arrived, unless it is only slow
					})
				}
			})
			if tt.loopback == "-" {
				continue
			}
			t.Run(tt.name+"/"+p.name+" loopback", func(t *testing.T) {
				is := is.New(t)
				srv := p.loopback(t, place)
				srv.OnConn().Do(tt.plan...)
				if tt.loopback != "" {
					saw = tt.loopback
				}
				is.Equal(kernelLost.Replace(postOrder(t.Context(), srv)), kernelLost.Replace(saw)) // up to the kernel's choice
				is.Equal(len(srv.Exchanges()), served)                                             // no request arrived, unless it is only slow
			})
		}
	}
}

func TestRefusedConnectionLooksAsFromTheKernel(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, place)
	srv.OnConn().Nth(1).Do(httptestx.Refuse)
	_, err := srv.DialContext(t.Context(), "tcp", "orders.example:80")
	is.True(errors.Is(err, syscall.ECONNREFUSED))                               // for errors.Is
	is.Equal(err.Error(), "dial tcp 192.0.2.1:80: connect: connection refused") // and in words
	op := &net.OpError{}
	is.True(errors.As(err, &op) && op.Op == "dial" && !op.Timeout()) // by a dial
	c, err := srv.DialContext(t.Context(), "tcp", "orders.example:80")
	is.NoErr(err) // the second is accepted
	c.Close()
}

func TestUnknownHostLooksAsFromTheResolver(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, place)
	srv.OnConn().Do(httptestx.NoSuchHost)
	_, err := srv.Client().Get("http://orders.example/")
	dns := &net.DNSError{}
	is.True(errors.As(err, &dns))        // for errors.As
	is.True(dns.IsNotFound)              // which it is
	is.Equal(dns.Name, "orders.example") // the client's own word for it
	is.True(!dns.Temporary())            // no hope
	op := &net.OpError{}
	is.True(errors.As(err, &op) && op.Op == "dial") // in a dial
}

func TestDelayedRefusalTakesTimeOfTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.OnConn().Do(httptestx.Delay(time.Minute), httptestx.Refuse)
		start := time.Now()
		_, err := srv.DialContext(t.Context(), "tcp", "")
		is.True(errors.Is(err, syscall.ECONNREFUSED)) // refused
		is.Equal(time.Since(start), time.Minute)      // in the end

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = srv.DialContext(ctx, "tcp", "")
		is.True(errors.Is(err, context.DeadlineExceeded)) // unless the client gives up

		time.AfterFunc(time.Second, srv.Close)
		_, err = srv.DialContext(t.Context(), "tcp", "")
		is.True(errors.Is(err, syscall.ECONNREFUSED)) // or the server is closed
		is.Equal(time.Since(start), time.Minute+2*time.Second)
	})
}

func TestDelayOfAConnectionComesBeforeItsFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, okay, httptestx.WithTLS())
		srv.OnConn().Do(httptestx.Delay(9 * time.Second))
		start := time.Now()
		is.Equal(fetch(srv, "/"), "200 ok")        // served
		is.Equal(time.Since(start), 9*time.Second) // late: a slow handshake
		is.Equal(fetch(srv, "/"), "200 ok")        // again
		is.Equal(time.Since(start), 9*time.Second) // at once: the connection is there
	})
}

func TestHandshakeFailsWithTheAlert(t *testing.T) {
	for _, p := range wireProtocols[1:3] {
		for alert, want := range map[uint8]string{
			40: "remote error: tls: handshake failure", 80: "remote error: tls: internal error", 112: "remote error: tls: unrecognized name",
		} {
			is := is.New(t)
			check := func(srv *httptestx.Server) {
				srv.OnConn().First(1).Do(httptestx.HandshakeFail(alert))
				_, err := srv.Client().Get(srv.URL)
				op := &net.OpError{}
				is.True(errors.As(err, &op))        // a network error
				is.Equal(op.Error(), want)          // from the server
				is.Equal(fetch(srv, "/"), "200 ok") // the next connection is good
				is.Equal(len(srv.Exchanges()), 1)   // which is the one request there was
			}
			for range 20 {
				check(p.memory(t, okay))
			}
			check(p.loopback(t, okay))
		}
	}
}

func TestConnRulesCountConnections(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, okay)
	srv.OnConn().Nth(2).Do(httptestx.Refuse)
	srv.OnConn().Every(2).Script(httptestx.Plan(httptestx.NoSuchHost))
	srv.OnConn().After(4).First(5).Do(httptestx.Refuse)
	srv.OnConn().Prob(0).Do(httptestx.Refuse)
	var saw []string
	for range 7 {
		saw = append(saw, fetch(srv, "/"))
		srv.Client().CloseIdleConnections()
	}
	const refused = "connect: connection refused"
	is.Equal(saw, []string{"200 ok", refused, "lookup httptestx.test: no such host", "200 ok", "200 ok", "200 ok", refused}) // by the first rule that applies
}

func TestConnRuleHasAWindowOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, okay)
		srv.OnConn().Between(time.Minute, 2*time.Minute).Do(httptestx.Refuse)
		var saw []string
		for range 3 {
			saw = append(saw, fetch(srv, "/"))
			srv.Client().CloseIdleConnections()
			time.Sleep(time.Minute)
		}
		is.Equal(saw, []string{"200 ok", "connect: connection refused", "200 ok"}) // an outage of a minute
	})
}

func TestConnRuleThatCannotBeCarriedOutFailsTheTestAtOnce(t *testing.T) {
	const want = ": want delay, refuse, accept, handshakefail, nosuchhost, reset or close"
	for _, tt := range []struct {
		plan []httptestx.Step
		want string
	}{
		{nil, "no step" + want},
		{httptestx.Plan(httptestx.Handle), "handle is a step of a request" + want},
		{httptestx.Plan(httptestx.Delay(1), httptestx.Hang), "hang is a step of a request" + want},
		{httptestx.Plan(httptestx.Step{}), "zero step"},
		{httptestx.Plan(httptestx.Delay(-1)), "delay(-1ns): negative"},
		{httptestx.Plan(httptestx.Refuse, httptestx.Delay(1)), "delay(1ns) after refuse: a plan ends with refuse"},
		{httptestx.Plan(httptestx.HandshakeFail(40), httptestx.Reset), "reset after handshakefail(40): a plan ends with handshakefail(40)"},
	} {
		is := is.New(t)
		srv := httptestx.NewServer(newFakeT(t), nil)
		is.Equal(fatal(func() { srv.OnConn().Do(tt.plan...) }), "httptestx: OnConn().Do: "+tt.want)                                                              // says what is wrong
		is.Equal(fatal(func() { srv.OnConn().Nth(2).Script(httptestx.Plan(httptestx.Accept), tt.plan) }), "httptestx: OnConn().Nth(2).Script, plan 2: "+tt.want) // and where
	}
	is := is.New(t)
	srv := httptestx.NewServer(newFakeT(t), nil)
	is.Equal(fatal(func() { srv.OnConn().Script() }), "httptestx: OnConn().Script(): no plan") // nothing to do
	for _, st := range []httptestx.Step{httptestx.Refuse, httptestx.Accept, httptestx.NoSuchHost, httptestx.HandshakeFail(40)} {
		is.Equal(fatal(func() { srv.On("/").Do(st) }), fmt.Sprintf(`httptestx: On("/").Do: %v is a step of a connection: OnConn`, st)) // nor the other way round
	}
}

func TestConnStepThatTheNetworkCannotDoFailsTheTest(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, okay)
	srv.Start()
	srv.OnConn().Nth(1).Do(httptestx.NoSuchHost)
	srv.OnConn().Do(httptestx.HandshakeFail(40))
	fetch(srv, "/")
	fetch(srv, "/")
	srv.Close()
	is.Equal(ft.report(), "httptestx: connection 1: nosuchhost cannot be done: on loopback the system looks names up\n"+
		"httptestx: connection 2: handshakefail(40) cannot be done: the connection is in cleartext") // both
}

func TestStrictTellsOfConnRulesThatWereNotUsed(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, okay, httptestx.Strict())
	srv.OnConn().Nth(3).Do(httptestx.Refuse)
	srv.OnConn()
	fetch(srv, "/")
	ft.end()
	is.True(strings.Contains(ft.report(), "OnConn().Nth(3).Do: applied to 0 of 1 connection\n")) // it never applied
	is.True(strings.Contains(ft.report(), "OnConn() has no plan: end it with"))                  // it was forgotten
}

func TestCloseEndsSilentConnectionsAtOnce(t *testing.T) {
	for _, plan := range [][]httptestx.Step{
		{httptestx.Accept}, {httptestx.Reset}, {httptestx.Close}, {httptestx.Delay(time.Hour), httptestx.Refuse}, {httptestx.Delay(time.Hour)},
	} {
		onEachProtocol(t, okay, func(t *testing.T, srv *httptestx.Server) {
			is := is.New(t)
			srv.OnConn().Do(plan...)
			if strings.Contains(fmt.Sprint(plan), "refuse") && strings.Contains(srv.URL, "httptestx.test") {
				return // see TestDelayedRefusalTakesTimeOfTheDial
			}
			c, err := srv.DialContext(t.Context(), "tcp", "")
			is.NoErr(err) // connected, and then silent
			defer c.Close()
			srv.Close() // returns
			_, err = c.Read(make([]byte, 1))
			is.True(errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) // and nobody is there any more
		})
	}
}

func TestConnFaultsLeaveHTTPAlone(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, okay)
	srv.OnConn().First(1).Do(httptestx.Delay(0))
	srv.On("/").First(1).Do(httptestx.Status(http.StatusTeapot))
	is.Equal(fetch(srv, "/"), "418 I'm a teapot") // both kinds of rules count on their own
	is.Equal(fetch(srv, "/"), "200 ok")
}
