package httptestx

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// peer speaks HTTP/2 in frames, and so sees what net/http's client passes over.
type peer struct {
	net.Conn
	t *testing.T
}

// onPeer runs f in a bubble with a server of HTTP/2 and a connection to it.
func onPeer(t *testing.T, h http.HandlerFunc, f func(t *testing.T, srv *Server, p peer)) {
	synctest.Test(t, func(t *testing.T) {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		srv := NewServer(t, h, WithProtocols(protocols))
		c, err := srv.DialContext(t.Context(), "tcp", "")
		is.New(t).NoErr(err) // connected
		defer c.Close()
		p := peer{c, t}
		p.write(append([]byte(preface), appendFrame(nil, 4, 0, 0, nil)...)) // SETTINGS
		f(t, srv, p)
	})
}

func (p peer) write(b []byte) {
	_, err := p.Write(b)
	is.New(p.t).NoErr(err) // sent
}

// get opens a stream with a request for the path.
func (p peer) get(stream uint32, path string) {
	block := append([]byte{0x82, 0x86, 0x41, 1, 'a', 0x04, byte(len(path))}, path...) // GET, http, authority, path
	p.write(appendFrame(nil, frameHeaders, flagEndHeaders|flagEndStream, stream, block))
	synctest.Wait() // it has arrived: streams have no order
}

// sees returns the frames that end something, in words, of those that have come when nothing moves any more.
func (p peer) sees() (frames []string) {
	synctest.Wait()
	p.SetReadDeadline(time.Now().Add(time.Nanosecond))
	defer p.SetReadDeadline(time.Time{})
	b := make([]byte, 1<<16)
	n := 0
	for err := error(nil); err == nil; {
		var k int
		k, err = p.Read(b[n:])
		n += k
	}
	rest := b[:n]
	for {
		h, frame, after, ok := cutFrame(rest)
		if !ok {
			return frames
		}
		payload := frame[frameHeadLen:]
		switch h.kind {
		case frameReset:
			frames = append(frames, fmt.Sprintf("%d %v", h.stream, ErrCode(binary.BigEndian.Uint32(payload))))
		case frameGoAway:
			frames = append(frames, fmt.Sprintf("goaway %d %v", binary.BigEndian.Uint32(payload), ErrCode(binary.BigEndian.Uint32(payload[4:]))))
		case frameHeaders:
			frames = append(frames, fmt.Sprintf("%d headers", h.stream))
		}
		rest = after
	}
}

func silent(http.ResponseWriter, *http.Request) {}

func TestFramesOfEachStep(t *testing.T) {
	for _, tt := range []struct {
		plan []Step
		want []string
	}{
		{Plan(ResetStream(ErrCodeCancel)), []string{"3 CANCEL"}},
		{Plan(RefuseStream), []string{"3 REFUSED_STREAM"}},
		{Plan(Handle, Send(0), ResetStream(0x77)), []string{"3 headers", "3 0x77"}},
		{Plan(GoAway(ErrCodeNo, BeforeThis)), []string{"goaway 1 NO_ERROR"}},
		{Plan(GoAway(ErrCodeInternal, IncludingThis), Handle), []string{"goaway 3 INTERNAL_ERROR", "3 headers"}},
		{Plan(Handle, Close), []string{"goaway 3 NO_ERROR"}},
		{Plan(GoAway(ErrCodeProtocol, IncludingThis), Close), []string{"goaway 3 PROTOCOL_ERROR"}},
		{Plan(Handle, Malformed(BadHPACK)), []string{"3 headers"}},
		{Plan(Malformed(HugeFrame)), nil}, // its head alone
	} {
		t.Run(fmt.Sprint(tt.plan), func(t *testing.T) {
			onPeer(t, silent, func(t *testing.T, srv *Server, p peer) {
				is := is.New(t)
				srv.On("/plan").Do(tt.plan...)
				p.get(1, "/")
				is.Equal(p.sees(), []string{"1 headers"}) // served
				p.get(3, "/plan")
				is.Equal(p.sees(), tt.want) // these frames, and none of net/http's own that would contradict them
			})
		})
	}
}

func TestLastStreamOfGoAwayNeverGoesUp(t *testing.T) {
	onPeer(t, silent, func(t *testing.T, srv *Server, p peer) {
		is := is.New(t)
		srv.On("/first").Do(Delay(time.Second), GoAway(ErrCodeNo, BeforeThis))
		srv.On("/second").Do(Delay(2*time.Second), GoAway(ErrCodeNo, IncludingThis), Handle)
		p.get(1, "/")
		p.get(3, "/first")
		p.get(5, "/second")
		time.Sleep(time.Minute)
		is.Equal(p.sees()[1:3], []string{"goaway 1 NO_ERROR", "goaway 1 NO_ERROR"}) // though the second asks for 5
		is.True(!srv.Exchanges()[2].Handled)                                        // as promised
	})
}

func TestRequestsAboveTheLastStreamAreNotHandled(t *testing.T) {
	onPeer(t, silent, func(t *testing.T, srv *Server, p peer) {
		is := is.New(t)
		srv.On("/goaway").Do(GoAway(ErrCodeNo, IncludingThis), Delay(time.Second), Handle)
		srv.On("/late").Do(Delay(time.Minute), Handle)
		p.get(1, "/late")
		p.get(3, "/goaway")
		p.get(5, "/after")
		time.Sleep(time.Hour)
		var ends []string
		for _, x := range srv.Exchanges() {
			ends = append(ends, fmt.Sprint(x.Path, " ", x.Handled, " ", x.End))
		}
		is.Equal(ends, []string{"/late true answered", "/goaway true answered", "/after false refused"}) // those below are
	})
}

func TestNothingIsServedAfterClose(t *testing.T) {
	released := false
	block := func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		released = true
	}
	onPeer(t, block, func(t *testing.T, srv *Server, p peer) {
		is := is.New(t)
		srv.On("/close").Do(Close)
		p.get(1, "/")
		p.get(3, "/close")
		is.Equal(p.sees(), []string{"goaway 3 NO_ERROR"}) // that was all
		is.True(released)                                 // handlers hear of it, though the client has not closed its side
		p.get(5, "/after")
		is.Equal(len(srv.Exchanges()), 2) // nobody reads any more
	})
}

func TestRequestWithoutABodyIsReadWithItsHeaders(t *testing.T) {
	onPeer(t, silent, func(t *testing.T, srv *Server, p peer) {
		srv.On("/").Do(ResetStream(ErrCodeInternal))
		p.get(1, "/")
		p.sees()
		is.New(t).Equal(srv.Exchanges()[0].Read, ReadComplete) // there is nothing more of it
	})
}

func TestSlowHandlerSendsNothingOverADeadConnection(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Hour)
		w.Write([]byte("late"))
	}
	onPeer(t, slow, func(t *testing.T, srv *Server, p peer) {
		is := is.New(t)
		srv.On("/reset").Do(Reset)
		p.get(1, "/")
		p.get(3, "/reset")
		time.Sleep(2 * time.Hour)
		x := srv.Exchanges()[0]
		is.Equal(x.Sent, SentNothing)                        // whatever the handler believes
		is.Equal([]any{x.Status, x.End}, []any{0, EndReset}) // nor a status
	})
}
