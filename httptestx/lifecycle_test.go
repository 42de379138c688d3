package httptestx_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

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
			is.True(strings.Contains(ft.report(), "lifecycle_test.go"))                         // with the place
			is.Equal(srv.Exchanges()[0].End, httptestx.EndAborted)                              // as recorded
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
	limit := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before { // those of the client end when they notice
		runtime.Gosched()
		if time.Now().After(limit) {
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestCloseSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute) }))
		go srv.Client().Get(srv.URL + "/stuck")
		synctest.Wait()
		srv.Close()
		is.Equal(ft.logged(), golden(`
httptestx: Close is waiting for handlers to return
  #1  +0s  conn 1.1  h1  GET /stuck  handle*  handled; nothing sent; running`)) // once, with the request
	})
}

func TestPanicOfACallbackFailsTheTest(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	srv.On("/").Where(func(*http.Request) bool { panic("broken") }).Do(httptestx.Reset)
	_, err := srv.Client().Get(srv.URL + "/a")
	is.True(err != nil)                                                           // the client sees the connection end
	is.Equal(srv.Wait(1)[0].End, httptestx.EndAborted)                            // as recorded
	is.True(strings.HasPrefix(ft.report(), "httptestx: GET /a: panic: broken\n")) // and the test hears why
}
