package httptestx

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// SendRaw sends bytes as they are, in the place of a response of net/http or
// behind what [Send] has sent. It is for HTTP/1; on HTTP/2 it fails the test. The connection
// cannot serve HTTP afterwards: only SendRaw, [Delay], [Latency], [Slow],
// [Reset], [Close] and [Hang] can follow, and the connection is closed at the end of the
// plan. An answer that is whole should say "Connection: close", or the client's next
// request may meet the close. SendRaw does not read the request; put [Read] before it if the client is to
// have sent all of it.
func SendRaw(b []byte) Step {
	if len(b) == 0 {
		return invalid("sendraw(): nothing to send")
	}
	return Step{op: opSendRaw, text: string(b)}
}

// rawShown is how many raw bytes the time-line shows of a step.
const rawShown = 32

// rawWords renders raw bytes, or their beginning and how many there are.
func rawWords(text string) string {
	if len(text) <= rawShown {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%q..., %d bytes", text[:rawShown], len(text))
}

// takeover is the connection after it was taken away from net/http.
type takeover struct {
	conn net.Conn // nil before
	sent []byte   // the beginning of what was sent
}

// sendRaw sends bytes at the pace of Slow. If the plan ends with them the record
// does so before the last are sent.
func (x *run) sendRaw(st Step, b []byte) EndState {
	if end := x.takeOver(st); end != Running {
		return end
	}
	for len(b) > 0 {
		if end := x.pause(); end != Running {
			return end
		}
		piece := b[:x.pace.cut(len(b))]
		b = b[len(piece):]
		x.noteRaw(piece, len(b) == 0)
		if len(b) == 0 && x.last {
			x.log.end(EndClosed)
		}
		if _, err := x.raw.conn.Write(piece); err != nil {
			return x.unsent()
		}
	}
	return Running
}

// takeOver takes the connection away from net/http; st is the step that needs it.
func (x *run) takeOver(st Step) EndState {
	if x.raw.conn != nil {
		return Running
	}
	if x.left() {
		return x.gone()
	}
	if x.r.ProtoMajor != 1 {
		return x.cannot(st, "its responses are frames, not text")
	}
	c, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return x.cannot(st, err.Error())
	}
	x.raw.conn = c
	return Running
}

// cannot fails the test for a step that the protocol has no form of.
func (x *run) cannot(st Step, why string) EndState {
	x.srv.t.Errorf("httptestx: %s %s: %v cannot be done on %s: %s", x.r.Method, x.r.URL.Path, st, x.r.Proto, why)
	return EndAborted
}

// noteRaw records a piece that is about to be sent, and what it makes of the
// answer, where that began with raw bytes.
func (x *run) noteRaw(piece []byte, last bool) {
	x.raw.sent = append(x.raw.sent, piece[:min(len(piece), bodyLimit-len(x.raw.sent))]...)
	status, whole := 0, false
	if last && x.sent < 0 {
		status, whole = parseAnswer(x.raw.sent, x.r)
	}
	x.log.update(func(e *Exchange) {
		e.Bytes += int64(len(piece))
		if x.sent < 0 {
			e.Sent, e.Status, e.whole = SentRaw, status, whole
		}
	})
}

// parseAnswer returns the final status that a client reads in b, 0 if there is
// none, and whether the whole answer is there.
func parseAnswer(b []byte, r *http.Request) (status int, whole bool) {
	rd := bufio.NewReader(bytes.NewReader(b))
	for {
		resp, err := http.ReadResponse(rd, r)
		if err != nil {
			return 0, false
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			_, err = io.Copy(io.Discard, resp.Body)
			return resp.StatusCode, err == nil
		}
	}
}
