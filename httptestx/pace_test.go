package httptestx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// trickle is a handler whose answer is 10 bytes, in two writes.
var trickle = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "got %d ", len(body))
	io.WriteString(w, "abcd")
})

// pieces reads what arrives, and notes each read with its time since the start.
func pieces(r io.Reader, began time.Time) string {
	var words []string
	buf := make([]byte, 100)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			words = append(words, fmt.Sprintf("%v:%s", time.Since(began), buf[:n]))
		}
		if err != nil {
			return strings.Join(append(words, fmt.Sprintf("%v:%v", time.Since(began), err)), " | ")
		}
	}
}

func TestSlowAnswerDribbles(t *testing.T) {
	slow := httptestx.Slow(4, time.Second)
	for _, tt := range []struct {
		plan []httptestx.Step
		want string
	}{
		{httptestx.Plan(slow, httptestx.Handle), // each write of the handler for itself
			"0s:got  | 1s:2  | 2s:abcd | 2s:EOF"},
		{httptestx.Plan(slow, httptestx.Handle, httptestx.Delay(0)), "0s:got  | 1s:2 ab | 2s:cd | 2s:EOF"},
		{httptestx.Plan(httptestx.Handle, slow, httptestx.SendHeaders), "0s:got  | 1s:2 ab | 2s:cd | 2s:EOF"},
		{httptestx.Plan(httptestx.Handle, slow), "0s:got  | 1s:2 ab | 2s:cd | 2s:EOF"},
		{httptestx.Plan(httptestx.Handle, httptestx.SendHeaders, httptestx.Delay(time.Minute), slow), "1m0s:got  | 1m1s:2 ab | 1m2s:cd | 1m2s:EOF"},
		{httptestx.Plan(httptestx.Handle, slow, httptestx.Send(6), httptestx.Delay(time.Minute)), "0s:got  | 1s:2  | 1m2s:abcd | 1m2s:EOF"},
		{httptestx.Plan(httptestx.Handle, slow, httptestx.Send(6), httptestx.Reset), "0s:got  | 1s:2  | 1s:read tcp 192.0.2.2:10001->192.0.2.1:80: read: connection reset by peer"},
		{httptestx.Plan(httptestx.Handle, slow, httptestx.Slow(1, time.Hour), httptestx.Send(2), httptestx.Slow(100, time.Hour)), "0s:g | 1h0m0s:o | 2h0m0s:t 2 abcd | 2h0m0s:EOF"},
		{httptestx.Plan(httptestx.Status(404), httptestx.Slow(100, time.Hour)), "0s:Not Found | 0s:EOF"}, // one piece is not slow
		{httptestx.Plan(httptestx.Status(204), slow), "0s:EOF"},                                          // nor is none
	} {
		t.Run(fmt.Sprint(tt.plan), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := httptestx.NewServer(t, trickle)
				srv.On("/").Do(tt.plan...)
				began := time.Now()
				resp, err := srv.Client().Post(srv.URL, "", strings.NewReader("xx"))
				is.NoErr(err) // the headers come
				defer resp.Body.Close()
				is.Equal(pieces(resp.Body, began), tt.want)           // what arrives when
				is.Equal(srv.Wait(1)[0].Read, httptestx.ReadComplete) // the request was read
			})
		})
	}
}

func TestSlowRawBytesDribbleFromTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		srv.On("/").Do(httptestx.Slow(7, time.Second), httptestx.SendRaw([]byte("HTTP/1.1 204 OK\r\n")), httptestx.SendRaw([]byte("\r\n")))
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		defer c.Close()
		began := time.Now()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		is.Equal(pieces(c, began), "0s:HTTP/1. | 1s:1 204 O | 2s:K\r\n | 3s:\r\n | 3s:EOF") // the status line, too
		x := srv.Exchanges()[0]
		is.Equal(x.Bytes, int64(19))         // all of it
		is.Equal(x.Status, 204)              // which makes an answer
		is.Equal(x.End, httptestx.EndClosed) // after which no HTTP is possible
	})
}

// TestSlowAnswerEndsWithTheClient: the record says how far it came.
func TestSlowAnswerEndsWithTheClient(t *testing.T) {
	for _, plan := range [][]httptestx.Step{
		{httptestx.Handle, httptestx.Slow(4, time.Second)},
		{httptestx.Handle, httptestx.Slow(4, time.Second), httptestx.Send(10), httptestx.Reset},
		{httptestx.Slow(2, 500*time.Millisecond), httptestx.Handle},
	} {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := httptestx.NewServer(t, trickle)
				srv.On("/").Do(plan...)
				ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL, nil)
				resp, err := srv.Client().Do(req)
				is.NoErr(err) // the headers come
				_, err = io.ReadAll(resp.Body)
				is.True(errors.Is(err, context.DeadlineExceeded)) // the body takes too long
				x := srv.Wait(1)[0]
				is.Equal(x.End, httptestx.EndClientGone)               // which was noticed
				is.Equal(x.Done.Sub(x.Arrived), 1100*time.Millisecond) // at once
				is.Equal(x.Sent, httptestx.SentPartial)                // in the middle
				is.True(x.Bytes == 8 || x.Bytes == 6)                  // after so many bytes
			})
		})
	}
}

func TestSlowAnswerEndsWithTheServer(t *testing.T) {
	for _, plan := range [][]httptestx.Step{
		{httptestx.Handle, httptestx.Slow(4, time.Hour)},
		{httptestx.Slow(4, time.Hour), httptestx.Handle},
		{httptestx.Slow(4, time.Hour), httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\n\r\nabcd"))},
	} {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			for range 50 { // who hears of the end first is a race
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					srv := httptestx.NewServer(t, trickle)
					srv.On("/").Do(plan...)
					failed := make(chan error)
					go func() { failed <- send(srv, "POST", "/", "", "") }()
					synctest.Wait()
					srv.Close()
					is.True(<-failed != nil)                                // the client is let go
					is.Equal(srv.Exchanges()[0].End, httptestx.EndReleased) // and nobody is blamed
				})
			}
		})
	}
}

// TestSlowRawBytesEndWithTheClient: net/http does not watch the connection any more.
func TestSlowRawBytesEndWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		srv.On("/").Do(httptestx.Slow(1, time.Second), httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\n\r\n")))
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.NoErr(err) // connected
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		time.Sleep(1500 * time.Millisecond)
		c.Close()
		x := srv.Wait(1)[0]
		is.Equal(x.End, httptestx.EndClientGone)               // noticed
		is.Equal(x.Done.Sub(x.Arrived), 1500*time.Millisecond) // at once
		is.Equal(x.Bytes, int64(2))                            // after two pieces
	})
}

func TestSlowAnswerEndsWithTheClientOnBothNetworks(t *testing.T) {
	onBothNetworks(t, trickle, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Handle, httptestx.Slow(1, time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL, strings.NewReader("x"))
		resp, err := srv.Client().Do(req)
		is.NoErr(err) // the headers and the first byte
		cancel()
		resp.Body.Close()
		is.Equal(srv.Wait(1)[0].End, httptestx.EndClientGone) // nobody waits for an hour
	})
}

func TestClientThatLeftIsSentNothing(t *testing.T) {
	for _, plan := range [][]httptestx.Step{
		{httptestx.Delay(time.Minute), httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\n\r\n"))},
		{httptestx.Delay(time.Minute), httptestx.Malformed(httptestx.Garbage)},
		{httptestx.Delay(time.Minute), httptestx.Informational(103), httptestx.Handle},
		{httptestx.Slow(1, time.Second), httptestx.Delay(time.Minute), httptestx.Handle, httptestx.Send(1)},
	} {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := httptestx.NewServer(t, trickle)
				srv.On("/").Do(plan...)
				client := *srv.Client()
				client.Timeout = time.Second
				_, err := client.Get(srv.URL)
				is.True(err != nil) // too slow
				x := srv.Wait(1)[0]
				is.Equal(x.End, httptestx.EndClientGone) // found gone
				is.Equal(x.Sent, httptestx.SentNothing)  // and not talked to
			})
		})
	}
}
