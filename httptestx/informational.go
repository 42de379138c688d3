package httptestx

import (
	"fmt"
	"net/http"
)

// Informational sends an informational response at once: status code 100, 102, 103 or
// another up to 199, except 101, which leaves HTTP. kv are header names and
// values in turn:
//
//	Plan(Informational(103, "Link", "</style.css>"), Handle)
//
// It comes before the status line, so not after [Send]; Handle may have run. A
// client that waits for it sends its body after a 100. net/http's client gives up at the
// sixth informational response, unless its user looks at them.
func Informational(code int, kv ...string) Step {
	name := fmt.Sprintf("informational(%d)", code)
	if code < 100 || code > 199 || code == http.StatusSwitchingProtocols {
		return invalid("%s: not an informational status code, 100 to 199 except 101", name)
	}
	return withHeader(Step{op: opInformational, n: int64(code)}, name, kv)
}

// informational lets net/http write the response, which it flushes by itself.
// The header fields are not for the answer, and are taken out again.
func (x *run) informational(st Step) EndState {
	if x.left() {
		return x.gone()
	}
	x.log.update(func(e *Exchange) { e.Sent = SentInfo })
	fields := st.header()
	for name, values := range fields {
		x.w.Header()[name] = values
	}
	x.w.WriteHeader(int(st.n))
	x.info++
	x.settle()
	for name := range fields {
		x.w.Header().Del(name)
	}
	return Running
}
