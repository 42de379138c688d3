package httptestx

import (
	"net/http"
)

// send sends the held response up to the n-th byte of its body, in pieces if it
// is to be slow.
func (x *run) send(n int) EndState {
	n = min(n, x.held.body.Len())
	for {
		from := max(x.sent, 0)
		if from < n {
			if end := x.pause(); end != Running {
				return end
			}
		}
		if x.left() {
			return x.gone()
		}
		if x.write(from+x.pace.cut(max(n-from, 0))) != nil || http.NewResponseController(x.w).Flush() != nil && !x.streamEnded() {
			return x.gone()
		}
		x.settle()
		if x.sent >= n {
			return Running
		}
	}
}

// finish sends what is left of the held response. net/http does the last
// flush, when the record is complete, and closes the connection if the handler
// had declared a longer body.
func (x *run) finish() {
	if end := x.dribbled(); end != Running {
		x.log.end(end)
		panic(http.ErrAbortHandler)
	}
	end := EndOK
	if x.held.short {
		end = EndClosed
	}
	x.log.end(end)
	if x.write(x.held.body.Len()) != nil {
		x.unsent()
		panic(http.ErrAbortHandler)
	}
	x.held.writeTrailers(x.w)
}

// dribbled sends all but the last piece of a slow answer, and waits for its time.
func (x *run) dribbled() EndState {
	from, n := max(x.sent, 0), x.held.body.Len()
	if stop := x.pace.before(from, n); stop > from {
		if end := x.send(stop); end != Running {
			return end
		}
	}
	if from < n {
		if end := x.pause(); end != Running {
			return end
		}
	}
	if x.left() {
		return x.gone()
	}
	return Running
}

// write records, and then writes, the held response up to the n-th byte of its body.
func (x *run) write(n int) error {
	first := x.sent < 0
	from := max(x.sent, 0)
	x.sent = max(from, min(n, x.held.body.Len()))
	x.log.update(func(e *Exchange) {
		e.Status, e.Bytes = x.held.status, int64(x.sent)
		switch {
		case x.sent == x.held.body.Len() && !x.held.short:
			e.Sent = SentComplete
		case x.sent == 0:
			e.Sent = SentHeaders
		default:
			e.Sent = SentPartial
		}
	})
	if first {
		x.held.writeHeader(x.w)
	}
	if from == x.sent {
		return nil // also where no body is allowed
	}
	_, err := x.w.Write(x.held.body.Bytes()[from:x.sent])
	return err
}

// unsent is what the failure of a last write makes of an end that was recorded
// before it.
func (x *run) unsent() EndState {
	end := x.gone()
	x.log.update(func(e *Exchange) {
		if e.End != Running {
			e.End = end
		}
	})
	return end
}
