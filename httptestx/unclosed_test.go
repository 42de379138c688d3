package httptestx_test

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// unclosed gets three answers, closes the second only, and returns what the end of the test says; then it closes the
// others, for a bubble cannot end before.
func unclosed(t *testing.T, p wireProtocol, plan ...httptestx.Step) string {
	ft := newFakeT(t)
	srv := p.memory(ft, okay)
	srv.On("/report/{n}").Do(plan...)
	for _, path := range []string{"/report/1", "/report/2", "/report/3"} {
		resp, err := srv.Client().Get(srv.URL + path)
		is.New(t).NoErr(err) // answered
		if path == "/report/2" {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			continue
		}
		defer resp.Body.Close()
	}
	srv.Wait(3)
	ft.end()
	return ft.logged()
}

func TestEndOfTheTestNamesAnswersThatWereNotClosed(t *testing.T) {
	for _, p := range wireProtocols[:2] {
		synctest.Test(t, func(t *testing.T) {
			is.New(t).Equal(unclosed(t, p, httptestx.Handle, httptestx.SendHeaders), golden(`
httptestx: the client has not closed 2 connections: was each answer's body closed? The last requests there were
  #1  +0s  conn 1.1  h1  GET /report/1  handle sendheaders  handled; sent: 200, 2 bytes; answered
  #3  +0s  conn 2.2  h1  GET /report/3  handle sendheaders  handled; sent: 200, 2 bytes; answered`)) // by their connections
		})
	}
}

// TestEndOfTheTestNamesAnswersThatWereCut: the server has closed the connection long ago, but the client has not
// looked.
func TestEndOfTheTestNamesAnswersThatWereCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, okay)
		srv.On("/report").Do(httptestx.TruncatedBody(1)...)
		resp, err := srv.Client().Get(srv.URL + "/report")
		is.New(t).NoErr(err) // its headers are there
		defer resp.Body.Close()
		srv.Wait(1)
		ft.end()
		is.New(t).Equal(ft.logged(), golden(`
httptestx: the client has not closed 1 connection: was each answer's body closed? The last requests there were
  #1  +0s  conn 1.1  h1  GET /report  handle send(1) reset*  handled; partly sent: 200, 1 byte; reset`)) // what it did not look at
	})
}

// TestAnswersThatAreNotClosedOnHTTP2LeaveNothingBehind: their connection is read, and so closed, all the time.
func TestAnswersThatAreNotClosedOnHTTP2LeaveNothingBehind(t *testing.T) {
	for _, p := range wireProtocols[2:] {
		synctest.Test(t, func(t *testing.T) {
			is.New(t).Equal(unclosed(t, p, httptestx.Handle, httptestx.SendHeaders), "") // nothing to say
		})
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	for _, p := range wireProtocols {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			srv := p.memory(t, okay)
			is.Equal(srv.Connections(), 0) // none yet
			srv.On("/reset").Do(httptestx.Reset)
			for _, path := range []string{"/", "/reset", "/", "/"} {
				postTo(srv, path)
				synctest.Wait() // the client has given the connection up
			}
			is.Equal(srv.Connections(), 2) // the second after the reset, and used again
		})
	}
	is := is.New(t)
	srv := httptestx.NewServer(t, okay)
	srv.Start()
	postTo(srv, "/")
	postTo(srv, "/")
	is.Equal(srv.Connections(), 1) // on loopback as well
}

// postTo sends a POST, which net/http does not send again by itself.
func postTo(srv *httptestx.Server, path string) {
	if resp, err := srv.Client().Post(srv.URL+path, "", nil); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
