package httptestx_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

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

func TestHeldResponseIsWhatNetHTTPWouldSend(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"nothing": func(w http.ResponseWriter, r *http.Request) {},
		"a page":  func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<!doctype html><title>x</title>") },
		"a type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			w.Write([]byte("x"))
		},
		"no content":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
		"not modified": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304); w.Write([]byte("x")) },
		"too little": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9")
			w.Write([]byte("x"))
		},
		"too much": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1")
			w.Write([]byte("x"))
			w.Write([]byte("y"))
		},
		"hints":        func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(103); w.WriteHeader(202) },
		"two statuses": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202); w.WriteHeader(404) },
		"trailers": func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			w.Header().Set(http.TrailerPrefix+"Sum", "1")
		},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(method+" "+name, func(t *testing.T) {
				is := is.New(t)
				srv := httptestx.NewServer(t, h)
				srv.Config.ErrorLog = log.New(io.Discard, "", 0) // "superfluous WriteHeader"
				srv.On("/held").Do(httptestx.Handle, httptestx.Delay(0))
				is.Equal(response(t, srv, method, "/held"), response(t, srv, method, "/")) // held or not
				xs := srv.Wait(2)
				is.Equal(xs[0].Status, xs[1].Status) // the exchanges agree
				is.Equal(xs[0].Bytes, xs[1].Bytes)
				is.Equal(xs[0].Sent, xs[1].Sent)
				is.Equal(xs[0].End, xs[1].End)
			})
		}
	}
}

// response renders all that a client can see of a response but the date.
func response(t *testing.T, srv *httptestx.Server, method, path string) string {
	req, _ := http.NewRequest(method, srv.URL+path, nil)
	resp, err := srv.Client().Do(req)
	is.New(t).NoErr(err) // answered
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Header.Del("Date")
	return fmt.Sprint(resp.StatusCode, resp.Header, resp.ContentLength, resp.Trailer, string(body), err)
}

func TestHandlerReachesWhatNetHTTPOffers(t *testing.T) {
	onBothNetworks(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		for _, err := range []error{c.SetWriteDeadline(time.Time{}), c.EnableFullDuplex(), c.Flush()} {
			if err != nil {
				t.Error(err)
			}
		}
	}), func(t *testing.T, srv *httptestx.Server) {
		is.New(t).Equal(statuses(t, srv, "GET /"), []int{200}) // without a rule nothing is missing
	})
}

func TestHeldResponseCannotBeHijacked(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		is.True(errors.Is(err, http.ErrNotSupported)) // nothing is silently different
	}))
	srv.On("/").Do(httptestx.Handle, httptestx.Delay(0))
	is.Equal(statuses(t, srv, "GET /"), []int{200}) // and the handler can go on
}

func TestClientThatLeavesIsNotAnswered(t *testing.T) {
	for name, plan := range map[string][]httptestx.Step{
		"at the end": httptestx.Plan(httptestx.Handle, httptestx.Delay(time.Minute)),
		"at a send":  httptestx.Plan(httptestx.Handle, httptestx.Delay(time.Minute), httptestx.Send(1), httptestx.Reset),
		"streamed":   httptestx.Plan(httptestx.Delay(time.Minute), httptestx.Handle),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := httptestx.NewServer(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				srv.On("/").Do(plan...)
				client := *srv.Client()
				client.Timeout = time.Second
				_, err := client.Post(srv.URL, "", strings.NewReader("x"))
				is.True(err != nil) // too slow
				x := srv.Wait(1)[0]
				is.True(x.Handled)                           // the server went on
				is.Equal(x.End, httptestx.EndClientGone)     // and found nobody
				is.Equal(x.Sent, httptestx.SentNothing)      // so it sent nothing
				is.Equal(x.Done.Sub(x.Arrived), time.Minute) // when it was ready to
			})
		})
	}
}
