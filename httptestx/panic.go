package httptestx

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
)

// abort ends what a panic, of the handler or on purpose, has interrupted; net/http
// then closes the connection. It does so without a panic, v is nil, after
// runtime.Goexit, as by t.FailNow in a handler.
func (x *run) abort(v any) {
	if v != nil && v != http.ErrAbortHandler {
		x.srv.t.Errorf("httptestx: %s %s: panic: %v\n%s", x.r.Method, x.r.URL.Path, v, x.scene(debug.Stack()))
	}
	x.log.end(EndAborted) // unless the plan has ended it
	if x.raw.conn != nil {
		x.raw.conn.Close() // net/http has forgotten it
	}
	if v != nil {
		panic(http.ErrAbortHandler)
	}
}

// scene says where a panic came from: the exchange, and the part of the stack that is
// not ours.
func (x *run) scene(stack []byte) string {
	var e Exchange
	x.log.update(func(now *Exchange) { e = *now })
	if e.End == Running {
		e.End = EndAborted // as it will be
	}
	return fmt.Sprintf("%s\n  %s\n%s", x.srv.exchangeLines([]Exchange{e}, nil), x.srv.seedWords(), userFrames(string(stack)))
}

// userFrames cuts a stack down to the frames between the panic and the call from
// this package.
func userFrames(stack string) string {
	if _, after, ok := strings.Cut(stack, "\npanic("); ok {
		_, after, _ = strings.Cut(after, "\n") // the rest of the line
		_, stack, _ = strings.Cut(after, "\n") // where panic itself is
	}
	for _, ours := range []string{"/httptestx.(*run).call(", "/httptestx.(*activeRule).plan("} {
		if before, _, ok := strings.Cut(stack, ours); ok {
			stack = before[:strings.LastIndex(before, "\n")+1]
		}
	}
	return strings.TrimRight(stack, "\n")
}
