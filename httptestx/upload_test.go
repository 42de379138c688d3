package httptestx_test

import (
	"bufio"
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

func TestUploadThatIsClosedIsNotReset(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Close)
		_, err := srv.Client().Post(srv.URL, "", strings.NewReader(strings.Repeat("x", 16<<20)))
		is.True(err != nil)                                                            // it failed
		is.True(!errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE)) // although most of the body was never asked for
		is.Equal(srv.Wait(1)[0].End, httptestx.EndClosed)                              // as planned
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

func TestUploadThatTheClientBreaksOffIsNotHandled(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Read, httptestx.Handle)
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
		c.Close()
		x := srv.Wait(1)[0]
		is.Equal(x.Read, httptestx.ReadPartial)  // not all of it came
		is.Equal(string(x.Body), "half")         // only this
		is.True(!x.Handled)                      // so the handler did not run
		is.Equal(x.End, httptestx.EndClientGone) // and why
	})
}

func TestUploadIsRecordedUpToALimitAndHandledWhole(t *testing.T) {
	onBothNetworks(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	}), func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/held").Do(httptestx.Handle, httptestx.Delay(0))
		for i, path := range []string{"/", "/held"} {
			resp, err := srv.Client().Post(srv.URL+path, "", strings.NewReader(strings.Repeat("x", 1<<20)))
			is.NoErr(err) // answered
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			is.Equal(string(body), "1048576")              // the handler gets all
			is.Equal(len(srv.Exchanges()[i].Body), 64<<10) // the exchange keeps the beginning
		}
	})
}

// TestHandlerCanTalkBothWays: the record does not make a full-duplex exchange wait.
func TestHandlerCanTalkBothWays(t *testing.T) {
	onBothNetworks(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		c.EnableFullDuplex()
		buf := make([]byte, 4)
		for {
			n, err := r.Body.Read(buf)
			w.Write(buf[:n])
			c.Flush()
			if err != nil {
				return
			}
		}
	}), func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		body, feed := io.Pipe()
		go io.WriteString(feed, "ping")
		resp, err := srv.Client().Post(srv.URL, "", body)
		is.NoErr(err) // headers
		defer resp.Body.Close()
		buf := make([]byte, 4)
		for range 3 {
			_, err = io.ReadFull(resp.Body, buf)
			is.NoErr(err)                 // the echo comes
			is.Equal(string(buf), "ping") // while the request goes on
			go io.WriteString(feed, "ping")
		}
		io.ReadFull(resp.Body, buf)
		feed.Close()
		_, err = io.ReadAll(resp.Body)
		is.NoErr(err) // both directions ended
	})
}
