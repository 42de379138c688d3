package httptestx

import (
	"fmt"
	"net/http"
	"strconv"
)

// ErrCode is an error code of HTTP/2 (RFC 9113, section 7).
type ErrCode uint32

// The error codes, with the names that golang.org/x/net/http2 gives them.
const (
	ErrCodeNo ErrCode = iota
	ErrCodeProtocol
	ErrCodeInternal
	ErrCodeFlowControl
	ErrCodeSettingsTimeout
	ErrCodeStreamClosed
	ErrCodeFrameSize
	ErrCodeRefusedStream
	ErrCodeCancel
	ErrCodeCompression
	ErrCodeConnect
	ErrCodeEnhanceYourCalm
	ErrCodeInadequateSecurity
	ErrCodeHTTP11Required
)

// String returns the name in the RFC, such as "REFUSED_STREAM", or the number.
func (c ErrCode) String() string {
	names := [...]string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
		"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
		"ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if int64(c) < int64(len(names)) {
		return names[c]
	}
	return "0x" + strconv.FormatUint(uint64(c), 16)
}

// RefuseStream ends the plan by refusing the request: RST_STREAM with
// REFUSED_STREAM, which promises that it was not processed and may be sent again
// (RFC 9113, section 8.7). A plan with [Handle] before it is a mistake; see
// [Dishonest]. HTTP/1 has no such promise: there it fails the test. net/http's client sends
// a request that was refused again by itself, up to 8 times in all.
//
//nolint:gochecknoglobals // a step is a value, and assigned once
var RefuseStream = Step{op: opResetStream, n: int64(ErrCodeRefusedStream)}

// ResetStream ends the plan by resetting the stream, RST_STREAM with the code: the
// connection and its other streams live on. What was sent before arrives. With
// ErrCodeRefusedStream it is [RefuseStream]. On HTTP/1, where the connection is all there
// is, it is the same as [Reset].
func ResetStream(code ErrCode) Step { return Step{op: opResetStream, n: int64(code)} }

// Last says which streams a [GoAway] leaves alone.
type Last uint8

// What a GOAWAY says about the stream of the request.
const (
	BeforeThis    Last = iota + 1 // it was not processed: the promise of RefuseStream
	IncludingThis                 // it may be
)

// GoAway announces the end of the connection: the client sends new requests on
// another one, and knows that those above the last stream were not processed (RFC 9113,
// section 6.8).
//
// With BeforeThis that is this request as well, so it ends the plan, and as for
// [RefuseStream] a plan with [Handle] before it is a mistake. The server keeps the
// promise: requests above the last stream are not handled any more. If one of them
// has been, the last stream is that one's, and only this request is refused, by
// REFUSED_STREAM. net/http's client sends such a request again by itself, without end. With
// IncludingThis the plan goes on to answer, or with [Close].
//
// On HTTP/1, IncludingThis announces the end by "Connection: close" in the answer, which
// must not have been sent; BeforeThis, for want of a way to say it, is [Close].
func GoAway(code ErrCode, last Last) Step {
	if last != BeforeThis && last != IncludingThis {
		return invalid("goaway(%v): last must be BeforeThis or IncludingThis", code)
	}
	return Step{op: opGoAway, n: int64(code) | int64(last)<<32}
}

func (s Step) code() ErrCode { return ErrCode(s.n & (1<<32 - 1)) }

func (s Step) last() Last { return Last(s.n >> 32) }

// refuses reports whether s promises that the request was not processed.
func (s Step) refuses() bool {
	return s == RefuseStream || s.op == opGoAway && s.last() == BeforeThis
}

// http2Words renders the steps of this file.
func (s Step) http2Words() string {
	switch {
	case s == RefuseStream:
		return "refusestream"
	case s.op == opResetStream:
		return fmt.Sprintf("resetstream(%v)", s.code())
	case s.last() == BeforeThis:
		return fmt.Sprintf("goaway(%v, before this)", s.code())
	}
	return fmt.Sprintf("goaway(%v, including this)", s.code())
}

// resetStream ends the stream. net/http is told by a panic, and its own
// RST_STREAM is dropped.
func (x *run) resetStream(st Step) EndState {
	if x.r.ProtoMajor != 2 {
		if st == RefuseStream {
			return x.cannot(st, "nothing in it says that a request was not processed")
		}
		return x.step(Reset)
	}
	end := EndReset
	if st == RefuseStream {
		end = EndRefused
	}
	x.log.end(end)
	x.conn.out.awaitSettings(x.conn.life)
	x.conn.out.resetStream(x.log.x.Stream, st.code())
	return end
}

func (x *run) goAway(st Step) EndState {
	before := st.last() == BeforeThis
	if x.r.ProtoMajor == 2 {
		if before {
			x.log.end(EndRefused)
		}
		x.conn.goAway(x.log.x.Stream, st)
		if before {
			return EndRefused
		}
		return Running
	}
	switch {
	case before:
		return x.step(Close)
	case x.sent >= 0:
		return x.cannot(st, "the headers, which would say so, have been sent")
	}
	x.w.Header().Set("Connection", "close")
	return Running
}

// settle returns when what was flushed has left, so that a step that goes by net/http
// does not overtake it.
func (x *run) settle() {
	if x.r.ProtoMajor != 2 {
		return
	}
	want := amount{blocks: x.info}
	if x.sent >= 0 {
		want = amount{blocks: x.info + 1, bytes: x.sent}
	}
	x.conn.out.await(x.r.Context(), x.log.x.Stream, want)
}

// streamEnded reports whether the headers were the whole answer: with those of an answer to HEAD
// net/http ends the stream, and then the request's context, as if the client had gone.
func (x *run) streamEnded() bool {
	return x.r.ProtoMajor == 2 && x.r.Method == http.MethodHead && x.sent >= 0
}
