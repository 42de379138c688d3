package httptestx_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestRawBytesGoOutAsTheyAre(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		raw := []byte("\x00not HTTP\r\nat all\xff")
		srv.On("/").Do(httptestx.SendRaw(raw), httptestx.Delay(0), httptestx.SendRaw([]byte("!")))
		raw[0] = 'x' // the step keeps its own
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		defer c.Close()
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\norder")
		got, err := io.ReadAll(c)
		is.NoErr(err)                                        // a FIN, although the body was not read
		is.Equal(string(got), "\x00not HTTP\r\nat all\xff!") // every byte
		x := srv.Wait(1)[0]
		is.Equal(x.Read, httptestx.ReadHeaders) // nothing implies a read
		is.Equal(x.Sent, httptestx.SentRaw)     // no claim is made about HTTP
		is.Equal(x.End, httptestx.EndClosed)    // the end of the plan
	})
}

// TestRawAnswerIsUnderstoodForTheRecord: what a client reads in the bytes decides
// whether an equal request after it is another call.
func TestRawAnswerIsUnderstoodForTheRecord(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		status int
		told   bool // of a success
	}{
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", 201, true},
		{"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", 201, true},
		{"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\no", 201, false},
		{"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nok", 503, false},
		{"HTTP/1.1 103 Early Hints\r\n\r\n", 0, false},
		{"HTTP/1.1 201 Cre", 0, false},
		{"garbage", 0, false},
	} {
		t.Run(tt.raw, func(t *testing.T) {
			is := is.New(t)
			ft := newFakeT(t)
			srv := httptestx.NewServer(ft, place)
			srv.On("/").Do(httptestx.Handle, httptestx.SendRaw([]byte(tt.raw)))
			for range 2 {
				send(srv, "POST", "/orders", "", "{}")
				srv.Client().CloseIdleConnections() // a whole answer keeps its connection until the FIN is seen
			}
			is.Equal(srv.Wait(2)[0].Status, tt.status) // as a client reads it
			httptestx.AtMostOnce(ft, srv)
			is.Equal(ft.report() == "", tt.told) // whoever was told does not ask again
		})
	}
}

func TestRawAnswerIsNotedBeforeTheClientSeesIt(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		srv.On("/").Do(httptestx.Read, httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")))
		for i := range 50 {
			is := is.New(t)
			is.NoErr(send(srv, "POST", "/", "", "x"))             // a whole answer
			is.Equal(srv.Exchanges()[i].End, httptestx.EndClosed) // and the exchange has ended
		}
	})
}

func TestHangAfterRawBytesEndsWithTheClientOrTheServer(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.SendRaw([]byte("HTTP/1.1 2")), httptestx.Hang)
		dial := func() net.Conn {
			c, err := srv.DialContext(t.Context(), "tcp", "")
			is.NoErr(err) // connected
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			_, err = io.ReadFull(c, make([]byte, 10))
			is.NoErr(err) // the bytes came
			return c
		}
		dial().Close()
		is.Equal(srv.Wait(1)[0].End, httptestx.EndClientGone) // noticed
		c := dial()
		defer c.Close()
		srv.Close()
		is.Equal(srv.Wait(2)[1].End, httptestx.EndReleased) // let go
	})
}

func TestResetAfterRawBytesLeavesThemReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.On("/").Do(httptestx.Handle, httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")), httptestx.Reset)
		is.Equal(postOrder(t.Context(), srv), `200 after "": "part", read: connection reset by peer`) // what was sent, then the reset
		is.Equal(srv.Exchanges()[0].End, httptestx.EndReset)                                          // as planned
	})
}

func TestMalformedAnswerKeepsTheRestOfTheHandlersAnswer(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Order", "7")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "placed")
	})
	for kind, want := range map[httptestx.Malformation]string{
		httptestx.StatusLine: "HTTP/1.1 many Created\r\nContent-Length: 6\r\nContent-Type: text/plain; charset=utf-8\r\nX-Order: 7\r\n\r\nplaced",
		httptestx.Header: "HTTP/1.1 201 Created\r\nThis line has no colon\r\n" +
			"Content-Length: 6\r\nContent-Type: text/plain; charset=utf-8\r\nX-Order: 7\r\n\r\nplaced",
		httptestx.ContentLength: "HTTP/1.1 201 Created\r\nContent-Length: many\r\nContent-Type: text/plain; charset=utf-8\r\nX-Order: 7\r\n\r\nplaced",
		httptestx.Chunk: "HTTP/1.1 201 Created\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\nX-Order: 7\r\n\r\n" +
			"3\r\npla\r\nmany\r\n",
		httptestx.Garbage: "\x00\x01\x02not-HTTP\r\n\r\n",
	} {
		t.Run(kind.String(), func(t *testing.T) {
			is := is.New(t)
			srv := httptestx.NewServer(t, h)
			srv.On("/").Do(httptestx.Handle, httptestx.Malformed(kind))
			c, err := srv.DialContext(t.Context(), "tcp", "")
			is.NoErr(err) // connected
			defer c.Close()
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			got, err := io.ReadAll(c)
			is.NoErr(err)               // closed in order
			is.Equal(string(got), want) // one fault, and nothing else wrong
		})
	}
}

func TestMalformedChunkOfAShortBodyIsNoProperEnd(t *testing.T) {
	for _, body := range []string{"", "x"} {
		is := is.New(t)
		srv := httptestx.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, body) }))
		srv.On("/").Do(httptestx.Handle, httptestx.Malformed(httptestx.Chunk))
		is.Equal(postOrder(t.Context(), srv), `200 after "": "", invalid byte in chunk length`) // an empty chunk would be one
	}
}

func TestMalformedGzipMakesUpForWhatTheHandlerDidNotWrite(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	}))
	srv.On("/").Do(httptestx.Handle, httptestx.Malformed(httptestx.Gzip))
	is.Equal(postOrder(t.Context(), srv), `200 after "": "short", gzip: invalid checksum`) // the checksum is the one fault
	is.Equal(srv.Wait(1)[0].End, httptestx.EndOK)                                          // the length is right
}

// TestMalformedGzipLeavesTheConnectionGood also shows who sees the fault.
func TestMalformedGzipLeavesTheConnectionGood(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").First(1).Do(httptestx.Malformed(httptestx.Gzip))
		srv.On("/").First(1).Do(httptestx.Handle, httptestx.Malformed(httptestx.Gzip), httptestx.Send(25), httptestx.Delay(0))
		is.Equal(postOrder(t.Context(), srv), `200 after "": "OK", gzip: invalid checksum`)     // an answer of its own
		is.Equal(postOrder(t.Context(), srv), `201 after "": "placed", gzip: invalid checksum`) // and the handler's, in parts
		is.Equal(postOrder(t.Context(), srv), `201 after "": "placed"`)                         // nothing is wrong behind it
		for _, x := range srv.Exchanges() {
			is.Equal(x.Conn, 1) // with the connection
		}
	})
}

func TestClientThatGotAMalformedAnswerMayAskAgain(t *testing.T) {
	for _, kind := range []httptestx.Malformation{httptestx.Gzip, httptestx.Chunk, httptestx.Header} {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, place)
		srv.On("/").First(1).Do(httptestx.Handle, httptestx.Malformed(kind))
		for range 2 {
			send(srv, "POST", "/orders", "", "{}")
		}
		httptestx.AtMostOnce(ft, srv)
		is.True(strings.Contains(ft.report(), "happened 2 times")) // it was told of no success it could use
	}
}

func TestMalformedBodyOfAnAnswerWithoutOneFailsTheTest(t *testing.T) {
	for _, kind := range []httptestx.Malformation{httptestx.Chunk, httptestx.Gzip} {
		for method, plan := range map[string][]httptestx.Step{
			"HEAD": {httptestx.Malformed(kind)},
			"GET":  {httptestx.Status(304), httptestx.Malformed(kind)},
		} {
			is := is.New(t)
			ft := newFakeT(t)
			srv := httptestx.NewServer(ft, place)
			srv.On("/").Do(plan...)
			req, _ := http.NewRequest(method, srv.URL+"/a", nil)
			_, err := srv.Client().Do(req)
			is.True(err != nil)                                                                                                                    // not answered
			is.Equal(ft.report(), fmt.Sprintf("httptestx: %s /a: malformed(%v) cannot be done on HTTP/1.1: the answer has no body", method, kind)) // rather than nothing malformed
			is.Equal(srv.Wait(1)[0].End, httptestx.EndAborted)                                                                                     // as recorded
		}
	}
}

// h2Server returns a server of cleartext HTTP/2, and a client.
func h2Server(t *testing.T, ft testing.TB) (*httptestx.Server, *http.Client) {
	srv := httptestx.NewServer(ft, place)
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	tr := &http.Transport{DialContext: srv.DialContext, Protocols: srv.Config.Protocols}
	t.Cleanup(tr.CloseIdleConnections)
	return srv, &http.Client{Transport: tr}
}

func TestStepsThatHTTP2CannotDoFailTheTest(t *testing.T) {
	for _, step := range []httptestx.Step{
		httptestx.SendRaw([]byte("x")),
		httptestx.Malformed(httptestx.StatusLine), httptestx.Malformed(httptestx.Header), httptestx.Malformed(httptestx.Chunk),
		httptestx.Malformed(httptestx.ContentLength), httptestx.Malformed(httptestx.Garbage),
	} {
		is := is.New(t)
		ft := newFakeT(t)
		srv, client := h2Server(t, ft)
		srv.On("/").Do(httptestx.Handle, step)
		_, err := client.Post(srv.URL+"/orders", "", nil)
		is.True(err != nil)                                                                                                                    // not answered
		is.Equal(ft.report(), fmt.Sprintf("httptestx: POST /orders: %v cannot be done on HTTP/2.0: its responses are frames, not text", step)) // which step, and where
		x := srv.Wait(1)[0]
		is.Equal(x.End, httptestx.EndAborted)   // as recorded
		is.Equal(x.Sent, httptestx.SentNothing) // nothing got out
	}
}

func TestStepsThatHTTP2CanDo(t *testing.T) {
	for _, tt := range []struct {
		plan []httptestx.Step
		want string
	}{
		{httptestx.Plan(httptestx.Informational(103), httptestx.Handle), "201 placed"},
		{httptestx.Plan(httptestx.Handle, httptestx.SendHeaders, httptestx.Delay(0)), "201 placed"},
		{httptestx.Plan(httptestx.Latency(httptestx.Fixed(time.Second)), httptestx.Status(503)), "503 Service Unavailable"},
		{httptestx.Plan(httptestx.Handle, httptestx.Slow(1, time.Second)), "201 placed"},
		{httptestx.Plan(httptestx.Slow(1, time.Second), httptestx.Handle), "201 placed"},
		{httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Gzip)), "201 placed, gzip: invalid checksum"},
	} {
		t.Run(fmt.Sprint(tt.plan), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv, client := h2Server(t, t)
				srv.On("/").Do(tt.plan...)
				resp, err := client.Post(srv.URL, "", strings.NewReader("{}"))
				is.NoErr(err) // answered
				defer resp.Body.Close()
				body, err := io.ReadAll(bufio.NewReader(resp.Body))
				got := fmt.Sprint(resp.StatusCode, " ", string(body))
				if err != nil {
					got += ", " + err.Error()
				}
				is.Equal(got, tt.want)                         // as on HTTP/1
				is.Equal(srv.Wait(1)[0].End, httptestx.EndOK)  // with a good end
				is.Equal(srv.Exchanges()[0].Proto, "HTTP/2.0") // on HTTP/2
			})
		})
	}
}

func TestRawBytesUnderTLSAreTheSame(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *httptestx.Server{
		"memory": func(t *testing.T) *httptestx.Server { return httptestx.NewServer(t, place, httptestx.WithTLS()) },
		"loopback": func(t *testing.T) *httptestx.Server {
			srv := httptestx.NewServer(t, place)
			srv.StartTLS()
			return srv
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			srv := start(t)
			srv.On("/").Script(
				httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)),
				httptestx.Plan(httptestx.Read, httptestx.SendRaw([]byte("HTTP/1.1 202 Fine\r\nContent-Length: 3\r\n\r\nr")), httptestx.Close),
			)
			is.Equal(postOrder(t.Context(), srv), `201 after "": "pla", invalid byte in chunk length`) // the same fault
			is.Equal(postOrder(t.Context(), srv), `202 after "": "r", unexpected EOF`)                 // and the same bytes
			is.Equal(srv.Wait(2)[1].Proto, "HTTP/1.1")                                                 // on the protocol that has it
		})
	}
}
