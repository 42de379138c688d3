package httptestx

import (
	"maps"
	"net/http"
	"testing"

	"github.com/matryer/is"
)

// pair is a request on a used connection that was reset, and the same request on a fresh one.
func pair(change func(y, x *Exchange)) []Exchange {
	list := []Exchange{
		{Seq: 1, Conn: 1, ConnSeq: 2, Proto: "HTTP/1.1", End: EndReset, record: record{at: -1, arrivedAt: 1, doneAt: 2}},
		{Seq: 2, Conn: 2, ConnSeq: 1, Proto: "HTTP/1.1", End: EndOK, Sent: SentComplete, record: record{at: -1, arrivedAt: 3, doneAt: 4}},
	}
	for i := range list {
		list[i].Method, list[i].Host, list[i].Path, list[i].Key, list[i].Read = "POST", "a", "/orders", "k", ReadComplete
		list[i].Header = http.Header{"Idempotency-Key": {"k"}, "Accept": {"a", "b"}}
	}
	change(&list[0], &list[1])
	return list
}

// TestResendIsTheSameToTheLetter: of a request that net/http may have sent again, everything is the same but for
// what the server may not have read.
func TestResendIsTheSameToTheLetter(t *testing.T) {
	is := is.New(t)
	is.Equal(resends(pair(func(_, _ *Exchange) {})), map[int]int{2: 1}) // as it is
	is.Equal(resends(pair(func(y, _ *Exchange) { y.Read = ReadHeaders })), map[int]int{2: 1})
	for what, change := range map[string]func(y, x *Exchange){
		"method":                 func(_, x *Exchange) { x.Method = "PUT" },
		"host":                   func(_, x *Exchange) { x.Host = "b" },
		"path":                   func(_, x *Exchange) { x.Path = "/carts" },
		"query":                  func(_, x *Exchange) { x.Query = "a=1" },
		"key":                    func(_, x *Exchange) { x.Key = "k-18" },
		"body":                   func(_, x *Exchange) { x.digest, x.length = 7, 1 },
		"a header more":          func(_, x *Exchange) { x.Header.Set("X-Attempt", "2") },
		"a header less":          func(_, x *Exchange) { x.Header.Del("Accept") },
		"another value":          func(_, x *Exchange) { x.Header["Accept"] = []string{"b", "a"} },
		"sent before the end":    func(y, _ *Exchange) { y.doneAt = 5 },
		"the first is running":   func(y, _ *Exchange) { y.End, y.doneAt = Running, 0 },
		"the client ended it":    func(y, _ *Exchange) { y.End = EndClientGone },
		"the server was closed":  func(y, _ *Exchange) { y.End = EndReleased },
		"a part was sent":        func(y, _ *Exchange) { y.Sent = SentInfo },
		"a fresh connection":     func(y, _ *Exchange) { y.ConnSeq = 1 },
		"refused, but answered":  func(y, _ *Exchange) { y.Proto, y.End, y.Sent, y.Stream = "HTTP/2.0", EndRefused, SentHeaders, 3 },
		"HTTP/2, and was reset":  func(y, _ *Exchange) { y.Proto, y.Stream = "HTTP/2.0", 3 },
		"HTTP/2, and was closed": func(y, _ *Exchange) { y.Proto, y.End, y.Stream = "HTTP/2.0", EndClosed, 3 },
	} {
		if again := resends(pair(change)); len(again) > 0 {
			t.Errorf("%s: taken for a resend all the same", what)
		}
	}
	is.Equal(resends(pair(func(y, _ *Exchange) { y.Proto, y.End, y.Stream = "HTTP/2.0", EndRefused, 3 })), map[int]int{2: 1}) // a refusal
}

// TestResendsAreAsManyAsBrokenExchanges: one for each, in order.
func TestResendsAreAsManyAsBrokenExchanges(t *testing.T) {
	list := pair(func(_, _ *Exchange) {})
	broken, again := list[0], list[1]
	at := func(x Exchange, seq, arrived, done int) Exchange {
		x.Seq, x.arrivedAt, x.doneAt = seq, arrived, done
		return x
	}
	got := resends([]Exchange{at(broken, 1, 1, 3), at(broken, 2, 2, 4), at(again, 3, 5, 6), at(again, 4, 7, 8), at(again, 5, 9, 10)})
	is.New(t).True(maps.Equal(got, map[int]int{3: 1, 4: 2})) // and the fifth is the client's
}
