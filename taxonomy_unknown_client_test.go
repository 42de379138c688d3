package resilient_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

// A deafConn hears nothing any more after a second.
type deafConn struct {
	net.Conn
	deaf <-chan struct{}
	gone chan struct{}
	once sync.Once
}

func (c *deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.deaf:
		<-c.gone
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// deafening makes a transport ask the server by a ping whether it is there, and the server unable to answer.
func deafening(b *http.Transport) {
	b.HTTP2 = &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: 2 * time.Second}
	dial := b.DialContext
	b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		deaf := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(deaf) })
		return &deafConn{Conn: conn, deaf: deaf, gone: make(chan struct{})}, nil
	}
}

// withoutAnAnswer are the mishaps after the request may have been complete.
func withoutAnAnswer() []mishap {
	all := []mishap{
		{name: "RST before the server read anything", plan: httptestx.ResetBeforeRead, err: lost},
		{name: "FIN before the server read anything", plan: step(httptestx.Close), err: lost},
		{name: "RST before the server read anything, reused connection", warm: true, plan: httptestx.ResetBeforeRead, err: lost},
		{name: "server read all, then RST", plan: httptestx.ResetBeforeHandler, err: lost},
		{name: "server read all, then FIN", plan: step(httptestx.Read, httptestx.Close), err: lost},
		{name: "server processed all, then RST", plan: httptestx.LostResponse, err: lost},
		{name: "server processed all, then FIN", plan: httptestx.LostResponseEOF, err: lost},
		{name: "server processed all, then RST, reused connection", warm: true, plan: httptestx.LostResponse, err: lost},
		{name: "no headers, attempt timeout", plan: httptestx.Stall, setUp: impatient, err: isErr(resilient.ErrAttemptTimeout)},
		{name: "no headers, caller's deadline", plan: httptestx.Stall, deadline: time.Second, err: isErr(context.DeadlineExceeded), permanent: true},
		{
			name: "ResponseHeaderTimeout", plan: httptestx.Stall,
			base: func(b *http.Transport) { b.ResponseHeaderTimeout = time.Second },
			err:  says("timeout awaiting response headers"),
		},
		{
			name: "GOAWAY last >= ours, then close", on: onHTTP2,
			plan: step(httptestx.Handle, httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Close),
			err:  lost,
		},
		{name: "ping timeout", on: onHTTP2, plan: httptestx.Stall, base: deafening, err: says("client connection lost")},
	}
	for _, code := range []int{100, 102, 103} {
		all = append(all, mishap{
			name: "1xx then RST", plan: step(httptestx.Informational(code), httptestx.Reset), err: anyError,
		}, mishap{
			name: "1xx then FIN", plan: step(httptestx.Informational(code), httptestx.Close), err: anyError,
		})
	}
	return concluding(resilient.Unknown, all)
}

// withStreamErrors are those in which a stream is reset by a server that does not say that it has left the request alone.
func withStreamErrors() (all []mishap) {
	for _, c := range []httptestx.ErrCode{
		httptestx.ErrCodeNo, httptestx.ErrCodeProtocol, httptestx.ErrCodeInternal, httptestx.ErrCodeFlowControl, httptestx.ErrCodeStreamClosed,
		httptestx.ErrCodeCancel, httptestx.ErrCodeEnhanceYourCalm, httptestx.ErrCodeInadequateSecurity, httptestx.ErrCodeHTTP11Required,
	} {
		all = append(all, mishap{
			name: "RST_STREAM with " + c.String(), on: onHTTP2, plan: step(httptestx.Handle, httptestx.ResetStream(c)), err: says(c.String()),
		})
	}
	return concluding(resilient.Unknown, all)
}

// withBrokenAnswers are those in which there is an answer, of which nothing can be made.
func withBrokenAnswers() []mishap {
	raw := func(text string, end httptestx.Step) []httptestx.Step {
		return step(httptestx.Read, httptestx.SendRaw([]byte(text)), end)
	}
	all := []mishap{
		{name: "truncated status line", on: onHTTP1, plan: raw("HTTP/1.1 2", httptestx.Close), err: anyError},
		{name: "truncated headers FIN", on: onHTTP1, plan: raw("HTTP/1.1 200 OK\r\nContent-Le", httptestx.Close), err: anyError},
		{name: "truncated headers RST", on: onHTTP1, plan: raw("HTTP/1.1 200 OK\r\nContent-Le", httptestx.Reset), err: anyError},
		{name: "bad Transfer-Encoding", on: onHTTP1, plan: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: squeezed\r\n\r\n", httptestx.Close), err: says("unsupported transfer encoding")},
		{
			name: "header flood", on: onHTTP1, plan: raw("HTTP/1.1 200 OK\r\n"+strings.Repeat("X: x\r\n", 10_000), httptestx.Close),
			base: func(b *http.Transport) { b.MaxResponseHeaderBytes = 10_000 }, err: says("exceeded"),
		},
	}
	for _, m := range []httptestx.Malformation{httptestx.StatusLine, httptestx.Header, httptestx.ContentLength, httptestx.Garbage} {
		all = append(all, mishap{name: "malformed " + m.String(), on: onHTTP1, plan: step(httptestx.Handle, httptestx.Malformed(m)), err: anyError})
	}
	for _, m := range []httptestx.Malformation{httptestx.BadHPACK, httptestx.HugeFrame} {
		all = append(all, mishap{name: "malformed " + m.String(), on: onHTTP2, plan: step(httptestx.Handle, httptestx.Malformed(m)), err: anyError})
	}
	return concluding(resilient.Unknown, all)
}

// statuses are all that have a name: what each says, by itself, about what the server did.
func statuses() (all []mishap) {
	for code := 200; code < 600; code++ {
		m := mishap{name: "status", plan: step(httptestx.Status(code)), status: code, conclusion: resilient.Processed}
		switch {
		case http.StatusText(code) == "", code >= 300 && code < 400: // of a redirect, something else comes
			continue
		case slices.Contains([]int{408, 429, 503}, code):
			m.conclusion = resilient.Unprocessed
		case slices.Contains([]int{421, 425}, code): // which say so, too, and that another attempt is no use
			m.conclusion, m.permanent = resilient.Unprocessed, true
		case code >= 500:
			m.conclusion = resilient.Unknown
		}
		all = append(all, m)
	}
	return all
}
