package httptestx_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
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

func TestWaitFailsTheTestIfTheServerIsClosed(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	statuses(t, srv, "GET /")
	srv.Close()
	is.Equal(len(srv.Wait(2)), 1) // what there is
	is.Equal(regexp.MustCompile(`\+\d+ms`).ReplaceAllString(ft.report(), "+0s"), golden(`
httptestx: Wait(2): the server was closed
  #1  +0s  conn 1.1  h1  GET /  handle  handled; sent: 200, 0 bytes; answered`)) // and why no more
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
