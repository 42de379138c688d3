package httptestx_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

var h2c = wireProtocols[3]

var okay = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })

// onHTTP2 runs f in a bubble with a server of HTTP/2.
func onHTTP2(t *testing.T, h http.Handler, f func(t *testing.T, srv *httptestx.Server), opts ...httptestx.Option) {
	for _, p := range wireProtocols[2:] {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, p.memory(t, h, opts...)) })
		})
	}
}

// each sends a request for each path, a second after the other, and returns what became of them.
func each(srv *httptestx.Server, paths ...string) map[string]string {
	saw := make(map[string]string)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, path := range paths {
		wg.Go(func() {
			got := fetch(srv, path)
			mu.Lock()
			defer mu.Unlock()
			saw[path] = got
		})
		time.Sleep(time.Second)
	}
	wg.Wait()
	return saw
}

func fetch(srv *httptestx.Server, path string) string {
	resp, err := srv.Client().Get(srv.URL + path)
	if err != nil {
		return errWords(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return errWords(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

// records puts the exchanges into words, in order of arrival.
func records(srv *httptestx.Server) (lines []string) {
	for _, x := range srv.Exchanges() {
		handled := "not handled"
		if x.Handled {
			handled = "handled"
		}
		lines = append(lines, fmt.Sprintf("%d.%d %s %s, %v", x.Conn, x.Stream, x.Path, handled, x.End))
	}
	return lines
}

func TestRefusedStreamIsSentAgainOnTheSameConnection(t *testing.T) {
	onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").First(2).Do(httptestx.RefuseStream)
		is.Equal(fetch(srv, "/a"), "200 ok")                                                                                       // by net/http itself
		is.Equal(records(srv), []string{"1.1 /a not handled, refused", "1.3 /a not handled, refused", "1.5 /a handled, answered"}) // three requests in truth
	})
}

func TestGoAwayBeforeThisMovesTheRequestToAnotherConnection(t *testing.T) {
	onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Nth(2).Do(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
		is.Equal(fetch(srv, "/a"), "200 ok")                                                                                    // undisturbed
		is.Equal(fetch(srv, "/b"), "200 ok")                                                                                    // by net/http itself
		is.Equal(records(srv), []string{"1.1 /a handled, answered", "1.3 /b not handled, refused", "2.1 /b handled, answered"}) // sent twice
	})
}

func TestGoAwayIncludingThisEndsTheConnectionAfterTheAnswer(t *testing.T) {
	for _, p := range wireProtocols {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				srv := p.memory(t, okay)
				srv.On("/a").Do(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Handle)
				is.Equal(fetch(srv, "/a"), "200 ok") // answered
				is.Equal(fetch(srv, "/b"), "200 ok") // as well
				is.Equal(srv.Exchanges()[1].Conn, 2) // on another connection
			})
		})
	}
}

func TestGoAwayTellsTheTruthAboutOtherStreams(t *testing.T) {
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(time.Minute)
		}
		io.WriteString(w, "ok")
	})
	t.Run("those above the last are refused, and sent again", func(t *testing.T) {
		onHTTP2(t, slow, func(t *testing.T, srv *httptestx.Server) {
			is := is.New(t)
			srv.On("/goaway").Nth(1).Do(httptestx.Delay(time.Minute), httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
			srv.On("/delayed").Nth(1).Do(httptestx.Delay(2*time.Minute), httptestx.Handle)
			is.Equal(each(srv, "/slow", "/goaway", "/delayed"), map[string]string{"/slow": "200 ok", "/goaway": "200 ok", "/delayed": "200 ok"}) // in the end
			is.Equal(records(srv)[:3], []string{
				"1.1 /slow handled, answered", "1.3 /goaway not handled, refused", "1.5 /delayed not handled, refused", // the promise is kept
			})
		})
	})
	t.Run("one above that was handled is not denied", func(t *testing.T) {
		onHTTP2(t, slow, func(t *testing.T, srv *httptestx.Server) {
			is := is.New(t)
			srv.On("/goaway").Nth(1).Do(httptestx.Delay(30*time.Second), httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
			is.Equal(each(srv, "/goaway", "/slow"), map[string]string{"/slow": "200 ok", "/goaway": "200 ok"}) // in the end
			is.Equal(records(srv), []string{
				"1.1 /goaway not handled, refused", "1.3 /slow handled, answered", "2.1 /goaway handled, answered", // once each
			})
		})
	})
}

func TestDishonestGoAwayDeniesWhatWasHandled(t *testing.T) {
	onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Nth(1).Do(httptestx.Handle, httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
		srv.On("/").Nth(1).Do(httptestx.Handle, httptestx.RefuseStream)
		is.Equal(fetch(srv, "/a"), "200 ok")                                                                               // the client believes it
		is.Equal(records(srv), []string{"1.1 /a handled, refused", "2.1 /a handled, refused", "2.3 /a handled, answered"}) // and it happened three times
	}, httptestx.Dishonest())
}

func TestConnectionThatEndsTakesItsOtherStreamsAlong(t *testing.T) {
	for name, tt := range map[string]struct {
		step httptestx.Step
		saw  string
		end  string
	}{
		"Reset": {httptestx.Reset, reset, "reset"},
		"Close": {httptestx.Close, `http2: server sent GOAWAY and closed the connection; LastStreamID=5, ErrCode=NO_ERROR, debug=""`, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
				is := is.New(t)
				srv.On("/hang").Do(httptestx.Read, httptestx.Hang)
				srv.On("/late").Do(httptestx.Delay(time.Hour), httptestx.Handle)
				srv.On("/end").Do(tt.step)
				is.Equal(each(srv, "/hang", "/late", "/end"), map[string]string{"/hang": tt.saw, "/late": tt.saw, "/end": tt.saw}) // all lost
				is.Equal(records(srv), []string{
					"1.1 /hang not handled, " + tt.end, "1.3 /late not handled, " + tt.end, "1.5 /end not handled, " + tt.end, // as recorded
				})
				httptestx.AtMostOnce(t, srv)                            // which waits for a server that is slow to notice
				is.Equal(records(srv)[1], "1.3 /late handled, "+tt.end) // and acts even so
			})
		})
	}
}

func TestResetStreamLeavesTheOthersAlone(t *testing.T) {
	onHTTP2(t, okay, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/late").Do(httptestx.Delay(time.Minute), httptestx.Handle)
		srv.On("/reset").Do(httptestx.ResetStream(httptestx.ErrCodeInternal))
		is.Equal(each(srv, "/late", "/reset", "/after"), map[string]string{
			"/late": "200 ok", "/reset": "stream error: stream ID 3; INTERNAL_ERROR; received from peer", "/after": "200 ok",
		})
		is.Equal(srv.Exchanges()[2].Conn, 1) // the connection lives on
	})
}

func TestRefusalAfterTheHandlerIsRejectedUnlessDishonest(t *testing.T) {
	const why = ": it tells the client that the request was not processed (RFC 9113, section 8.7); the option Dishonest allows it"
	before := httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis)
	for _, tt := range []struct {
		plan []httptestx.Step
		want string
	}{
		{httptestx.Plan(httptestx.Handle, httptestx.RefuseStream), "refusestream after handle" + why},
		{httptestx.Plan(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeRefusedStream)), "refusestream after handle" + why},
		{httptestx.Plan(httptestx.Handle, before), "goaway(NO_ERROR, before this) after handle" + why},
		{httptestx.Plan(httptestx.Status(200), httptestx.Send(1), httptestx.RefuseStream), "refusestream after send" + why},
	} {
		is := is.New(t)
		srv := h2c.memory(newFakeT(t), nil)
		is.Equal(fatal(func() { srv.On("/").Do(tt.plan...) }), `httptestx: On("/").Do: `+tt.want) // a lie
		srv = h2c.memory(newFakeT(t), nil, httptestx.Dishonest())
		is.Equal(fatal(func() { srv.On("/").Do(tt.plan...) }), "") // that was asked for
	}
}

func TestHTTP2PlansEndWithTheirLastStep(t *testing.T) {
	is := is.New(t)
	srv := h2c.memory(newFakeT(t), nil)
	got := fatal(func() { srv.On("/").Do(httptestx.RefuseStream, httptestx.Handle) })
	is.Equal(got, `httptestx: On("/").Do: handle after refusestream: a plan ends with refusestream`) // there is no stream
	got = fatal(func() { srv.On("/").Do(httptestx.ResetStream(0x99), httptestx.Handle) })
	is.Equal(got, `httptestx: On("/").Do: handle after resetstream(0x99): a plan ends with resetstream(0x99)`) // nor here
	got = fatal(func() { srv.On("/").Do(httptestx.GoAway(0, 7)) })
	is.Equal(got, `httptestx: On("/").Do: goaway(NO_ERROR): last must be BeforeThis or IncludingThis`) // a number that means nothing
	got = fatal(func() { srv.On("/").Do(httptestx.GoAway(0, httptestx.IncludingThis)) })
	is.True(strings.Contains(got, "no answer")) // it is to be answered
}

func TestRefusalOnHTTP1FailsTheTest(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, okay)
	srv.On("/").Do(httptestx.RefuseStream)
	is.Equal(fetch(srv, "/a"), "EOF")                                                                                                        // not answered
	is.Equal(ft.report(), "httptestx: GET /a: refusestream cannot be done on HTTP/1.1: nothing in it says that a request was not processed") // nor passed over
	is.Equal(srv.Wait(1)[0].End, httptestx.EndAborted)                                                                                       // as recorded
}

func TestGoAwayBehindTheHeadersOfHTTP1FailsTheTest(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, okay)
	srv.On("/").Do(httptestx.Handle, httptestx.Send(1), httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis))
	fetch(srv, "/a")
	is.True(strings.HasSuffix(ft.report(), "cannot be done on HTTP/1.1: the headers, which would say so, have been sent")) // not passed over
}

func TestStreamFieldIsSeenByNobody(t *testing.T) {
	var saw http.Header
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { saw = r.Header.Clone() })
	onHTTP2(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		req, _ := http.NewRequestWithContext(context.Background(), "GET", srv.URL, nil)
		req.Header.Set("Httptestx-Stream", "99") // a client cannot pretend
		_, err := srv.Client().Do(req)
		is.NoErr(err)                                                // answered
		is.Equal(saw.Values("Httptestx-Stream"), nil)                // neither by the handler
		is.Equal(srv.Exchanges()[0].Header["Httptestx-Stream"], nil) // nor in the record
		is.Equal(srv.Exchanges()[0].Stream, uint32(1))               // which has the number
	})
}

func TestHTTP2TakesLongHeadersAndTrailers(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, len(r.Header.Get("Long")), r.Trailer.Get("End"))
	})
	onHTTP2(t, h, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		for i := range 3 {
			req, _ := http.NewRequestWithContext(context.Background(), "POST", srv.URL, io.LimitReader(zeros{}, 300_000))
			req.Header.Set("Long", strings.Repeat("~", 100_000)) // several CONTINUATION frames
			req.Trailer = http.Header{"End": {"now"}}
			resp, err := srv.Client().Do(req)
			is.NoErr(err) // answered
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			is.Equal(string(body), "300000 100000now")         // all of it arrived
			is.Equal(srv.Exchanges()[i].Stream, uint32(2*i+1)) // on streams in turn
		}
	})
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestAnswerWithoutABodyCanBeSentInSteps(t *testing.T) {
	onEachProtocol(t, okay, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("HEAD /").Do(httptestx.Handle, httptestx.Send(0), httptestx.Delay(0))
		srv.On("GET /").Do(httptestx.Informational(103), httptestx.Status(204), httptestx.Send(9), httptestx.Delay(0))
		resp, err := srv.Client().Head(srv.URL)
		is.NoErr(err)                                 // answered, though no body follows
		is.Equal(resp.ContentLength, int64(2))        // with the length of the body there would be
		is.Equal(fetch(srv, "/"), "204 ")             // this as well
		is.Equal(srv.Wait(2)[0].End, httptestx.EndOK) // both to the end
	})
}
