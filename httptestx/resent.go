package httptestx

import (
	"maps"
	"net/http"
	"slices"
)

// Resent returns the exchanges that net/http may have sent again, without the client above it knowing. Its
// transport does that
//
//   - on HTTP/1, if a connection that was used before ends without a byte of the answer: GET, HEAD, OPTIONS, TRACE, and
//     any request with an Idempotency-Key or X-Idempotency-Key;
//   - on HTTP/2, if the stream is refused ([RefuseStream], or [GoAway] with BeforeThis) or reset with PROTOCOL_ERROR: any
//     request.
//
// For each exchange that ended so, it is the next request that is the same to the letter, if there is one.
// A server cannot see who has sent that: a client that keeps its transport from sending again (by a body
// without GetBody), and then repeats a request unchanged, looks the same. A header in which the client
// counts its attempts makes the difference, and [WithAttemptHeader] makes failures say so.
func (l Ledger) Resent() []Exchange {
	var resent []Exchange
	for _, x := range l.exchanges {
		if _, ok := l.again[x.Seq]; ok {
			resent = append(resent, x)
		}
	}
	return resent
}

// resends maps the number of each exchange that net/http may have sent again to that of the one whose
// end was the reason. No end is the reason for two.
func resends(list []Exchange) map[int]int {
	again := make(map[int]int)
	open := make(map[identity][]*Exchange) // whose end is a reason, and whose repetition has not arrived
	for i := range list {
		x := &list[i]
		id := x.identity()
		if at := slices.IndexFunc(open[id], x.repeats); at >= 0 {
			again[x.Seq] = open[id][at].Seq
			open[id] = slices.Delete(open[id], at, at+1)
		}
		if x.isRepeated() {
			open[id] = append(open[id], x)
		}
	}
	return again
}

// isRepeated reports whether x ended in a way to which net/http's transport answers by sending the
// request again, if it can have the body again, of which a server knows nothing.
func (x *Exchange) isRepeated() bool {
	if x.Proto == "HTTP/2.0" {
		return x.Sent < SentHeaders && x.isRepeatedOnHTTP2()
	}
	broken := x.End == EndReset || x.End == EndClosed || x.End == EndAborted
	return x.Sent == SentNothing && x.ConnSeq > 1 && broken && x.isReplayable()
}

func (x *Exchange) isRepeatedOnHTTP2() bool {
	var last Step
	if x.at >= 0 {
		last = x.Plan[x.at]
	}
	switch x.End {
	case EndRefused: // but a connection that goes away with an error at its first request is given up
		return x.Stream != 1 || last.op != opGoAway || last.code() == ErrCodeNo
	case EndReset:
		return last == ResetStream(ErrCodeProtocol)
	}
	return false
}

// isReplayable is what net/http asks of a request on HTTP/1.
func (x *Exchange) isReplayable() bool {
	switch x.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return x.Header["Idempotency-Key"] != nil || x.Header["X-Idempotency-Key"] != nil
}

// repeats reports whether x can be the repetition of y, an earlier exchange of the same identity:
// it came after the end of y, and is the same to the letter.
func (x *Exchange) repeats(y *Exchange) bool {
	return y.doneAt < x.arrivedAt && x.Host == y.Host && x.sameBody(y) &&
		maps.EqualFunc(x.Header, y.Header, slices.Equal)
}
