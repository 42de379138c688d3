package httptestx_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// malformedFrames lists what a plain client sees of each malformation of HTTP/2.
var malformedFrames = map[httptestx.Malformation]string{
	httptestx.BadHPACK:  "connection error: COMPRESSION_ERROR",
	httptestx.HugeFrame: "http2: frame too large",
}

func TestMalformedFrameIsTheLastThatTheClientSees(t *testing.T) {
	for kind, saw := range malformedFrames {
		for _, p := range wireProtocols[2:] {
			for _, handle := range []bool{false, true} {
				plan := httptestx.Plan(httptestx.Malformed(kind))
				if handle {
					plan = httptestx.Plan(httptestx.Handle, httptestx.Malformed(kind))
				}
				check := func(t *testing.T, srv *httptestx.Server) {
					is := is.New(t)
					srv.On("/orders").Do(plan...)
					is.Equal(postOrder(t.Context(), srv), saw) // what the client sees
					x := srv.Wait(1)[0]
					is.Equal(x.Read, httptestx.ReadComplete)     // as for Status
					is.Equal(x.Handled, handle)                  // whether the handler ran
					is.Equal(x.Sent, httptestx.SentRaw)          // and not an answer
					is.Equal(x.Status, 0)                        // not even a status
					is.Equal(x.End, httptestx.EndClosed)         // with the connection
					is.Equal(fetch(srv, "/other"), "201 placed") // the next request is served
					is.True(srv.Exchanges()[1].Conn > 1)         // on another connection
				}
				t.Run(fmt.Sprintf("%v/%s memory", plan, p.name), func(t *testing.T) {
					for range 20 {
						synctest.Test(t, func(t *testing.T) { check(t, p.memory(t, place)) })
					}
				})
				t.Run(fmt.Sprintf("%v/%s loopback", plan, p.name), func(t *testing.T) { check(t, p.loopback(t, place)) })
			}
		}
	}
}

// TestMalformedFrameTakesTheOtherStreamsAlong: they share the connection.
func TestMalformedFrameTakesTheOtherStreamsAlong(t *testing.T) {
	for kind, saw := range malformedFrames {
		onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
			is := is.New(t)
			srv.On("/slow").Do(httptestx.Delay(time.Minute), httptestx.Handle)
			srv.On("/bad").Do(httptestx.Delay(time.Second), httptestx.Malformed(kind))
			is.Equal(each(srv, "/slow", "/bad"), map[string]string{"/slow": saw, "/bad": saw}) // one error for both
			for _, x := range srv.Exchanges() {
				is.Equal(x.End, httptestx.EndClosed) // as recorded
			}
		})
	}
}

func TestMalformedFrameOnHTTP1FailsTheTest(t *testing.T) {
	for kind := range malformedFrames {
		for _, p := range wireProtocols[:2] {
			is := is.New(t)
			ft := newFakeT(t)
			srv := p.memory(ft, place)
			srv.On("/").Do(httptestx.Malformed(kind))
			is.Equal(postOrder(t.Context(), srv), "EOF")                                                                                                      // not answered
			is.Equal(ft.report(), fmt.Sprintf("httptestx: POST /orders: malformed(%v) cannot be done on HTTP/1.1: its responses are text, not frames", kind)) // which step, and where
			is.Equal(srv.Wait(1)[0].End, httptestx.EndAborted)                                                                                                // as recorded
		}
	}
}
