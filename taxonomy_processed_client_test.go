package resilient_test

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

func notGzip(err error) bool {
	return errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || isA[flate.CorruptInputError](err)
}

// inTheAnswersBody are the mishaps after the answer has begun: the server has processed the request, whatever becomes of
// the rest, and nothing is sent again.
func inTheAnswersBody() []mishap {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nor\r\n"
	raw := func(text string) []httptestx.Step {
		return step(httptestx.Read, httptestx.SendRaw([]byte(text)), httptestx.Close)
	}
	all := []mishap{
		{name: "body cut by RST", plan: httptestx.TruncatedBody(2), cut: lost},
		{name: "body cut by FIN", plan: step(httptestx.Handle, httptestx.Send(2), httptestx.Close), cut: lost},
		{name: "headers, then RST", plan: step(httptestx.Handle, httptestx.SendHeaders, httptestx.Reset), cut: lost},
		{name: "whole body, then RST", on: onHTTP1, plan: step(httptestx.Handle, httptestx.Send(5), httptestx.Reset)},
		{name: "body cut in a chunk", on: onHTTP1, plan: raw(chunked + "5\r\nde"), cut: isErr(io.ErrUnexpectedEOF)},
		{name: "body without its last chunk", on: onHTTP1, plan: raw(chunked), cut: isErr(io.ErrUnexpectedEOF)},
		{name: "chunked, trailer cut", on: onHTTP1, plan: raw(chunked + "0\r\nX: 1"), cut: says("trailer")},
		{name: "malformed chunk", on: onHTTP1, plan: step(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)), cut: anyError},
		{name: "close-delimited body cut by FIN", on: onHTTP1, plan: raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nor")}, // which nobody can tell
		{name: "gzip corrupt", plan: step(httptestx.Handle, httptestx.Malformed(httptestx.Gzip)), cut: notGzip},
		{
			name: "body stall, body idle timeout", plan: step(httptestx.Handle, httptestx.Send(2), httptestx.Hang),
			setUp: func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.BodyIdle(time.Second)) },
			cut:   isErr(resilient.ErrBodyIdle),
		},
		{
			name: "body stall, total timeout", plan: step(httptestx.Handle, httptestx.Send(2), httptestx.Hang),
			setUp: func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.TotalIncludesBody(true)) },
			cut:   isErr(resilient.ErrTotalTimeout),
		},
		{name: "H2 RST_STREAM in body", on: onHTTP2, plan: step(httptestx.Handle, httptestx.Send(2), httptestx.ResetStream(httptestx.ErrCodeInternal)), cut: says("INTERNAL_ERROR")},
		{name: "H2 body longer than its Content-Length", on: onHTTP2, answer: overlong(), plan: step(httptestx.Handle), cut: says("more than declared Content-Length")},
	}
	for i := range all {
		all[i].status = 200
	}
	return concluding(resilient.Processed, all)
}

// overlong answers with more than it has declared. That it declares nothing at all is the one way that net/http's
// server does not notice.
func overlong() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "0")
		_, _ = io.WriteString(rw, "order")
	})
}

// refusedWithinTheAnswer are those in which a server says that it has not processed the request, when its answer has
// begun. That can't be true, and the answer counts.
func refusedWithinTheAnswer() []mishap {
	all := []mishap{
		{name: "REFUSED_STREAM after the headers", plan: step(httptestx.Handle, httptestx.SendHeaders, httptestx.RefuseStream)},
		{name: "REFUSED_STREAM in body", plan: step(httptestx.Handle, httptestx.Send(2), httptestx.RefuseStream)},
		{name: "REFUSED_STREAM in body, reused connection", warm: true, plan: step(httptestx.Handle, httptestx.Send(2), httptestx.RefuseStream)},
		{name: "GOAWAY last < our stream, in body", plan: step(httptestx.Handle, httptestx.Send(2), httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))},
	}
	for i := range all {
		all[i].on, all[i].lies, all[i].status = onHTTP2, true, 200
		if all[i].cut = says("REFUSED_STREAM"); i == len(all)-1 {
			all[i].cut = says("GOAWAY")
		}
	}
	return concluding(resilient.Processed, all)
}
