package httptestx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// onBothNetworks runs f with a server in memory and with one on loopback.
func onBothNetworks(t *testing.T, h http.Handler, f func(t *testing.T, srv *httptestx.Server)) {
	t.Run("memory", func(t *testing.T) { f(t, httptestx.NewServer(t, h)) })
	t.Run("loopback", func(t *testing.T) {
		srv := httptestx.NewServer(t, h)
		srv.Start()
		f(t, srv)
	})
}

func TestWithoutRulesTheHandlerStreams(t *testing.T) {
	step := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, word := range []string{"one", "two"} {
			io.WriteString(w, word)
			w.(http.Flusher).Flush()
			<-step
		}
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		resp, err := srv.Client().Get(srv.URL)
		is.NoErr(err) // the headers come with the first flush
		defer resp.Body.Close()
		buf := make([]byte, 3)
		for _, word := range []string{"one", "two"} {
			_, err = io.ReadFull(resp.Body, buf)
			is.NoErr(err)               // each flush arrives while the handler runs
			is.Equal(string(buf), word) // in turn
			x := srv.Exchanges()[0]
			is.Equal(x.Sent, httptestx.SentPartial) // as the exchange says
			is.Equal(x.End, httptestx.Running)      // while it runs
			step <- struct{}{}
		}
		rest, err := io.ReadAll(resp.Body)
		is.NoErr(err)          // a proper end
		is.Equal(len(rest), 0) // and nothing more
		x := srv.Exchanges()[0]
		is.Equal(x.End, httptestx.EndOK) // the client has all, so the exchange has ended
		is.Equal(x.Bytes, int64(6))      // of two words
	})
}

func TestWithoutRulesInformationalResponsesPass(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, h textproto.MIMEHeader) error { hints = code; return nil },
		})
		req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
		resp, err := srv.Client().Do(req)
		is.NoErr(err) // answered
		resp.Body.Close()
		is.Equal(hints, 103)                     // the early hints came
		is.Equal(resp.StatusCode, 418)           // and the answer
		is.Equal(srv.Exchanges()[0].Status, 418) // which is what counts
	})
}

func TestWithoutRulesTheHandlerCanHijack(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		rw.WriteString("raw")
		rw.Flush()
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		got, err := io.ReadAll(c)
		is.NoErr(err)                                       // closed by the handler
		is.Equal(string(got), "raw")                        // not HTTP
		is.Equal(srv.Wait(1)[0].End, httptestx.EndHijacked) // as recorded
	})
}

func TestHeldResponseKeepsHeadersTrailersAndLength(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-One", "1")
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Late", "ignored")
		w.Header().Set("X-Sum", "42")
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Handle, httptestx.Send(2), httptestx.Delay(0))
		resp, err := srv.Client().Get(srv.URL)
		is.NoErr(err) // answered
		body, err := io.ReadAll(resp.Body)
		is.NoErr(err)                                     // to the end
		is.Equal(string(body), "body")                    // both parts of it
		is.Equal(resp.Header.Get("X-One"), "1")           // the headers
		is.Equal(resp.Header.Get("X-Late"), "")           // as they were when the status was written
		is.Equal(resp.Trailer.Get("X-Sum"), "42")         // and the trailers
		is.Equal(srv.Exchanges()[0].End, httptestx.EndOK) // a plan that ended well
	})
}

func TestHeldResponseWithoutABody(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "DELETE" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		io.WriteString(w, "four")
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Handle, httptestx.Delay(0))
		for _, method := range []string{"DELETE", "HEAD", "GET"} {
			req, _ := http.NewRequest(method, srv.URL, nil)
			resp, err := srv.Client().Do(req)
			is.NoErr(err) // answered
			body, err := io.ReadAll(resp.Body)
			is.NoErr(err)                                        // whole
			is.Equal(len(body) > 0, method == "GET")             // a body only for GET
			is.Equal(resp.ContentLength > 0, method != "DELETE") // HEAD says the length
		}
		for _, x := range srv.Exchanges() {
			is.Equal(x.Conn, 1)              // nothing was wrong with the connection
			is.Equal(x.End, httptestx.EndOK) // nor with an answer
		}
	})
}

func TestHandlerThatWritesLessThanDeclaredClosesTheConnection(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "short")
	})
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		resp, err := srv.Client().Get(srv.URL)
		is.NoErr(err) // headers
		_, err = io.ReadAll(resp.Body)
		is.Equal(err, io.ErrUnexpectedEOF) // cut
		x := srv.Wait(1)[0]
		is.Equal(x.Sent, httptestx.SentPartial) // and known to be
		is.Equal(x.End, httptestx.EndClosed)    // net/http closed it
	})
}

func TestConfigMayBeSetBeforeFirstUse(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, nil)
	type ctxKey struct{}
	var mu sync.Mutex
	var states []http.ConnState
	srv.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, ctxKey{}, "mine")
	}
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		states = append(states, s)
	}
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Context().Value(ctxKey{}))
	})
	resp, err := srv.Client().Get(srv.URL)
	is.NoErr(err) // answered
	body, _ := io.ReadAll(resp.Body)
	is.Equal(string(body), "mine") // the handler and both hooks are the test's
	srv.Close()
	mu.Lock()
	defer mu.Unlock()
	is.Equal(states[0], http.StateNew)                // from the first
	is.Equal(states[len(states)-1], http.StateClosed) // to the last
}

func TestStartAfterFirstUseFailsTheTest(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	defer ft.end()
	statuses(t, srv, "GET /")
	is.Equal(fatal(srv.Start), "httptestx: Start must come before the first connection, and once") // not two networks
}

func TestHandlerPanicFailsTheTest(t *testing.T) {
	for name, plan := range map[string][]httptestx.Step{
		"streamed": httptestx.Plan(httptestx.Handle),
		"held":     httptestx.LostResponse,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ft := newFakeT(t)
			srv := httptestx.NewServer(ft, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }))
			srv.On("/").Do(plan...)
			_, err := srv.Client().Post(srv.URL+"/orders", "", nil)
			is.True(err != nil) // the client sees the connection end, as with net/http
			ft.end()
			is.True(strings.HasPrefix(ft.report(), "httptestx: POST /orders: panic: broken\n")) // and the test hears of it
			is.True(strings.Contains(ft.report(), "server_test.go"))                                         // with the place
			is.Equal(srv.Exchanges()[0].End, httptestx.EndAborted)                                           // as recorded
		})
	}
}

func TestAbortHandlerIsNoFailure(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err := srv.Client().Get(srv.URL)
	is.True(errors.Is(err, io.EOF)) // aborted
	ft.end()
	is.Equal(ft.report(), "") // on purpose
}

func TestHandlerThatEndsItsGoroutineEndsTheExchange(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	_, err := srv.Client().Get(srv.URL)
	is.True(err != nil)                                // no answer
	is.Equal(srv.Wait(1)[0].End, httptestx.EndAborted) // as after t.FailNow in a handler
}

func TestCloseReleasesWhatHangs(t *testing.T) {
	block := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, plan := range map[string][]httptestx.Step{
		"hang":             httptestx.Plan(httptestx.Hang),
		"hang after read":  httptestx.Plan(httptestx.Read, httptestx.Hang),
		"delay":            httptestx.Plan(httptestx.Delay(time.Hour), httptestx.Handle),
		"handler":          httptestx.Plan(httptestx.Handle),
		"handler, held":    httptestx.LostResponse,
		"read of the rest": httptestx.Plan(httptestx.Read, httptestx.Handle),
	} {
		t.Run(name, func(t *testing.T) {
			onBothNetworks(t, block, func(t *testing.T, srv *httptestx.Server) {
				is := is.New(t)
				arrived := make(chan struct{})
				srv.On("/").Where(func(*http.Request) bool { close(arrived); return true }).Do(plan...)
				body, feed := io.Pipe() // never ends, so a read of it hangs
				failed := make(chan error)
				go func() {
					var rd io.Reader = strings.NewReader("x")
					if name == "read of the rest" {
						rd = body
					}
					_, err := srv.Client().Post(srv.URL, "", rd)
					failed <- err
				}()
				<-arrived
				srv.Close()              // would not return
				feed.Close()             // net/http waits for the reader of the body
				is.True(<-failed != nil) // the client is let go as well
				x := srv.Exchanges()[0]
				is.Equal(x.End, httptestx.EndReleased) // and nobody is blamed
				_, err := srv.DialContext(t.Context(), "tcp", "")
				is.True(errors.Is(err, syscall.ECONNREFUSED)) // nobody listens any more
				srv.Close()                                   // again is fine
			})
		})
	}
}

func TestCloseEndsWhatAHandlerHijackedAndForgot(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.NewResponseController(w).Hijack() })
	onBothNetworks(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		srv.Wait(1)
		srv.Close()
		_, err = c.Read(make([]byte, 1))
		is.Equal(err, io.EOF) // no connection is left
	})
}

func TestServerLeavesNoGoroutine(t *testing.T) {
	is := is.New(t)
	before := runtime.NumGoroutine()
	for range 20 {
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, place)
		srv.Start()
		srv.On("/").Script(httptestx.LostResponse, httptestx.LostResponseEOF, httptestx.TruncatedBody(1))
		for range 4 {
			postOrder(t.Context(), srv)
		}
		ft.end()
		is.Equal(ft.report(), "") // nothing to report
	}
	var stacks string
	for range 10_000 { // those of the client end when they notice
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		buf := make([]byte, 1<<20)
		stacks = string(buf[:runtime.Stack(buf, true)])
	}
	t.Fatalf("goroutines are left:\n%s", stacks)
}

func TestWaitFailsTheTestIfTheServerIsClosed(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	statuses(t, srv, "GET /")
	srv.Close()
	is.Equal(len(srv.Wait(2)), 1)                                                              // what there is
	is.True(strings.HasPrefix(ft.report(), "httptestx: Wait(2): the server was closed\n  #1")) // and why no more
}

func TestCloseSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }))
		go srv.Client().Get(srv.URL + "/stuck")
		synctest.Wait()
		srv.Close()
		is.Equal(len(ft.logs), 1)                           // once
		is.True(strings.Contains(ft.logs[0], "GET /stuck")) // with the request
	})
}

func TestConnectionsAreReusedAndNumbered(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Nth(2).Do(httptestx.Handle, httptestx.Reset)
		for range 4 {
			postOrder(t.Context(), srv)
		}
		var got []string
		for _, x := range srv.Exchanges() {
			got = append(got, fmt.Sprintf("#%d conn %d.%d", x.Seq, x.Conn, x.ConnSeq))
		}
		is.Equal(got, []string{"#1 conn 1.1", "#2 conn 1.2", "#3 conn 2.1", "#4 conn 2.2"}) // the reset ended the first
	})
}

func TestExchangeDescribesTheRequest(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok, httptestx.WithAttemptHeader("X-Attempt"))
	req, _ := http.NewRequest("PUT", srv.URL+"/a%20b?q=1", strings.NewReader("body"))
	req.Header.Set("Idempotency-Key", "k-17")
	req.Header.Set("X-Attempt", "2")
	resp, err := srv.Client().Do(req)
	is.NoErr(err) // answered
	resp.Body.Close()
	x := srv.Exchanges()[0]
	is.Equal([]string{x.Proto, x.Method, x.Host, x.Path, x.Query}, []string{"HTTP/1.1", "PUT", "httptestx.test", "/a b", "q=1"}) // the request line
	is.Equal([]string{x.Key, x.Attempt}, []string{"k-17", "2"})                                                                  // the headers that matter
	is.Equal(string(x.Body), "body")                                                                                             // also if the handler did not read it
	is.Equal(x.Read, httptestx.ReadComplete)                                                                                     // which net/http does then
	is.True(!x.Arrived.IsZero() && !x.Done.Before(x.Arrived))                                                                    // the times
}

func TestServeManyClientsAtOnce(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("POST /orders").Every(3).Do(httptestx.LostResponse...)
		srv.On("POST /orders").Every(2).Do(httptestx.Unavailable(time.Second)...)
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() { postOrder(t.Context(), srv) })
		}
		wg.Wait()
		ends := map[httptestx.EndState]int{}
		for i, x := range srv.Exchanges() {
			is.Equal(x.Seq, i+1) // in order of arrival
			ends[x.End]++
		}
		is.Equal(ends, map[httptestx.EndState]int{httptestx.EndReset: 66, httptestx.EndOK: 134}) // each third was lost
	})
}

// TestUploadThatIsResetDoesNotHang: the client may meet the reset while it
// reads or while it writes, on either network.
func TestUploadThatIsResetDoesNotHang(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Reset)
		_, err := srv.Client().Post(srv.URL, "", strings.NewReader(strings.Repeat("x", 16<<20)))
		is.True(err != nil)                                                                                           // it failed
		is.True(errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)) // by the reset
		x := srv.Wait(1)[0]
		is.Equal(x.Read, httptestx.ReadHeaders) // nothing of the body was asked for
		is.Equal(x.End, httptestx.EndReset)     // as planned
	})
}

func TestUploadThatIsClosedDoesNotHang(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Close)
		_, err := srv.Client().Post(srv.URL, "", strings.NewReader(strings.Repeat("x", 16<<20)))
		is.True(err != nil)                               // it failed
		is.Equal(srv.Wait(1)[0].End, httptestx.EndClosed) // as planned
	})
}

func TestUploadThatHangsEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.On("/").Do(httptestx.Hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL, strings.NewReader(strings.Repeat("x", 1<<20)))
		_, err := srv.Client().Do(req)
		is.True(errors.Is(err, context.DeadlineExceeded))     // nobody took the body
		is.Equal(srv.Wait(1)[0].End, httptestx.EndClientGone) // noticed although a part of it is unread
	})
}

func TestExpectContinue(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plan  []httptestx.Step
		saw   int // status, 0 for an error
		asked bool
	}{
		{"handle", httptestx.Plan(httptestx.Handle, httptestx.Delay(0)), 201, true},
		{"status refuses before the body", httptestx.Unavailable(0), 503, false},
		{"reset before the body", httptestx.Plan(httptestx.Reset), 0, false},
		{"reset after the body", httptestx.Plan(httptestx.Read, httptestx.Reset), 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
				is := is.New(t)
				srv.On("/").Do(tt.plan...)
				tr := &http.Transport{DialContext: srv.DialContext, ExpectContinueTimeout: time.Hour}
				defer tr.CloseIdleConnections()
				body := &countingReader{Reader: strings.NewReader("order")}
				req, _ := http.NewRequest("POST", srv.URL, body)
				req.ContentLength = 5
				req.Header.Set("Expect", "100-continue")
				saw := 0
				if resp, err := tr.RoundTrip(req); err == nil {
					saw = resp.StatusCode
					resp.Body.Close()
				}
				is.Equal(saw, tt.saw)                                             // what the client saw
				is.Equal(srv.Wait(1)[0].Read == httptestx.ReadComplete, tt.asked) // whether the server took the body
				is.Equal(body.n.Load() > 0, tt.asked)                             // whether the client gave it
			})
		})
	}
}

func TestRawClientGetsWhatWasSentBeforeTheReset(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.TruncatedBody(2)...)
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		srv.Wait(1) // the reset is there before the first read
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		is.NoErr(err) // the headers stay readable
		body, err := io.ReadAll(resp.Body)
		is.Equal(string(body), "pl")                // and the bytes sent
		is.True(errors.Is(err, syscall.ECONNRESET)) // then the reset shows
		is.Equal(resp.ContentLength, int64(6))      // the length tells that the body was cut
	})
}
