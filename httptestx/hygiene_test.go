package httptestx_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestCloseReleasesWhatHangsOnEachProtocol(t *testing.T) {
	block := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, plan := range [][]httptestx.Step{
		{httptestx.Hang}, {httptestx.Read, httptestx.Hang}, {httptestx.Delay(time.Hour), httptestx.Handle},
		{httptestx.Handle}, httptestx.LostResponse, {httptestx.Status(200), httptestx.Send(1), httptestx.Hang},
	} {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			onEachProtocol(t, block, func(t *testing.T, srv *httptestx.Server) {
				is := is.New(t)
				const calls = 3
				var arrived, ended sync.WaitGroup
				arrived.Add(calls)
				srv.On("/").Where(func(*http.Request) bool { arrived.Done(); return true }).Do(plan...)
				for range calls {
					ended.Go(func() { postOrder(t.Context(), srv) })
				}
				arrived.Wait()
				srv.Close()  // would not return
				ended.Wait() // the clients are let go as well
				for _, x := range srv.Exchanges() {
					is.Equal(x.End, httptestx.EndReleased) // and nobody is blamed
				}
			})
		})
	}
}

func TestServerLeavesNoGoroutineOnAnyProtocol(t *testing.T) {
	is := is.New(t)
	before := runtime.NumGoroutine()
	for _, p := range wireProtocols {
		for range 5 {
			ft := newFakeT(t)
			srv := p.loopback(ft, place)
			srv.On("/").Script(
				httptestx.LostResponse, httptestx.LostResponseEOF, httptestx.TruncatedBody(1),
				httptestx.Plan(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeInternal)),
				httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeInternal, httptestx.BeforeThis)),
			)
			srv.OnConn().Nth(2).Do(httptestx.Close)
			for range 7 {
				postOrder(t.Context(), srv)
			}
			ft.end()
			is.Equal(ft.report(), "") // nothing to report
		}
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

func TestManyClientsAtOnceOnEachProtocol(t *testing.T) {
	onEachProtocol(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("POST /orders").Every(4).Do(httptestx.Handle, httptestx.Send(2), httptestx.ResetStream(httptestx.ErrCodeInternal))
		srv.On("POST /orders").Every(3).Do(httptestx.Unavailable(time.Second)...)
		srv.On("POST /orders").Every(2).Do(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeCancel))
		saw := make(map[string]int)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				words, _, _ := strings.Cut(postOrder(t.Context(), srv), " ")
				mu.Lock()
				defer mu.Unlock()
				saw[words]++
			})
		}
		wg.Wait()
		ends := map[httptestx.EndState]int{}
		streams := map[string]bool{}
		for _, x := range srv.Exchanges() {
			ends[x.End]++
			streams[fmt.Sprint(x.Conn, x.Stream, x.ConnSeq)] = true
		}
		is.Equal(ends, map[httptestx.EndState]int{httptestx.EndReset: 100, httptestx.EndOK: 100}) // each fourth, and each second of the 100 that the refusals leave
		is.Equal(len(streams), 200)                                                               // no two had the same place
		is.Equal(saw["503"], 50)                                                                  // each third of the 150 that the first rule leaves
	})
}

func TestConnectionsThatDieUnderLoadAreRecorded(t *testing.T) {
	for _, p := range wireProtocols {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := p.memory(t, place)
				srv.On("/").Every(20).Do(httptestx.Handle, httptestx.Send(2), httptestx.Reset)
				srv.On("/").Every(19).Do(httptestx.Handle, httptestx.Close)
				srv.On("/").Every(5).Do(httptestx.Delay(time.Second), httptestx.Handle)
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() { postOrder(t.Context(), srv) })
				}
				wg.Wait()
				for _, x := range srv.Exchanges() {
					is.True(x.End == httptestx.EndOK || x.End == httptestx.EndReset || x.End == httptestx.EndClosed) // each has its end when its client has
				}
			})
		})
	}
}

func TestHandlerPanicFailsTheTestOnEachProtocol(t *testing.T) {
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
	for _, p := range wireProtocols {
		for _, plan := range [][]httptestx.Step{{httptestx.Handle}, httptestx.LostResponse} {
			is := is.New(t)
			ft := newFakeT(t)
			srv := p.memory(ft, broken)
			srv.On("/").Do(plan...)
			saw := postOrder(t.Context(), srv)
			is.True(saw == "EOF" || strings.Contains(saw, "INTERNAL_ERROR")) // what net/http makes of it
			ft.end()
			is.True(strings.HasPrefix(ft.report(), "httptestx: POST /orders: panic: broken\n")) // the test hears of it
			is.Equal(srv.Exchanges()[0].End, httptestx.EndAborted)                              // as recorded
		}
	}
}

func TestUploadThatIsNotReadCanBeReset(t *testing.T) {
	for _, step := range []httptestx.Step{httptestx.Reset, httptestx.Close, httptestx.ResetStream(httptestx.ErrCodeCancel)} {
		for _, p := range wireProtocols {
			t.Run(fmt.Sprintf("%v %s", step, p.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					srv := p.memory(t, place)
					srv.On("/").Do(step)
					_, err := srv.Client().Post(srv.URL, "", io.LimitReader(zeros{}, 8<<20))
					is.True(err != nil) // the client is stopped
					x := srv.Wait(1)[0]
					is.True(!x.Handled)                     // nothing was done
					is.Equal(x.Read, httptestx.ReadHeaders) // and none of the body read
				})
			})
		}
	}
}
