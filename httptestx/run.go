package httptestx

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// run executes the plan of one request, in the goroutine that net/http runs the
// handler in.
//
// The order of its two duties matters everywhere: first the record is written, then
// the client is let see it. A client that has its answer or its error can
// therefore look at the exchanges without waiting.
type run struct {
	srv  *Server
	conn *conn
	log  entry
	w    http.ResponseWriter
	r    *http.Request // the handler's view: body recorded, context ended by Close
	held *held         // the answer so far, if a step is to send it
	sent int           // bytes of the held body that were sent; -1 before the headers
}

// serve is the server's handler. Giving up on the connection is a panic with
// ErrAbortHandler, the one way that net/http offers.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.leave()
	c := r.Context().Value(connKey{}).(*conn)
	log := s.journal.arrive(c, s.describe(r))
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), entryKey{}, log))
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	view := r.WithContext(ctx)
	if r.Body != http.NoBody {
		view.Body = newBodyTap(r.Body, log)
	}
	x := &run{srv: s, conn: c, log: log, w: w, r: view, sent: -1}
	returned := false
	defer func() {
		if !returned {
			x.abort(recover())
		}
	}()
	x.execute(s.planFor(view))
	r.MultipartForm = view.MultipartForm // net/http removes the files of the request it knows
	returned = true
}

// abort ends what a panic, of the handler or on purpose, has interrupted; net/http
// then closes the connection. It does so without a panic, v is nil, after
// runtime.Goexit, as by t.FailNow in a handler.
func (x *run) abort(v any) {
	if v != nil && v != http.ErrAbortHandler {
		x.srv.t.Errorf("httptestx: %s %s: panic: %v\n%s", x.r.Method, x.r.URL.Path, v, debug.Stack())
	}
	x.log.end(EndAborted) // unless the plan has ended it
	if v != nil {
		panic(http.ErrAbortHandler)
	}
}

// execute does the steps in turn.
func (x *run) execute(plan []Step) {
	for i, st := range plan {
		x.log.update(func(e *Exchange) { e.Plan, e.at = plan, i })
		if st == Handle && i == len(plan)-1 {
			x.stream()
			return
		}
		end := x.step(st)
		if x.srv.life.Err() != nil {
			end = EndReleased // whatever was to come
		}
		if end != Running {
			x.log.end(end)
			panic(http.ErrAbortHandler)
		}
	}
	x.finish()
}

// step does one step, other than a last Handle, and returns how it ended the
// exchange, Running if it did not.
func (x *run) step(st Step) EndState {
	switch st.op {
	case opRead:
		return x.read()
	case opHandle:
		return x.handle()
	case opDelay:
		return x.delay(time.Duration(st.n))
	case opStatus:
		return x.status(st)
	case opSend:
		return x.send(int(st.n))
	case opReset:
		x.log.end(EndReset)
		x.conn.abort()
		return EndReset
	case opClose:
		x.log.end(EndClosed)
		x.conn.finish()
		return EndClosed
	default: // opHang
		return x.hang()
	}
}

// read reads the rest of the request, and puts a copy in its place.
func (x *run) read() EndState {
	if x.r.Body == http.NoBody {
		return Running
	}
	body, err := io.ReadAll(x.r.Body)
	if err != nil {
		return x.gone()
	}
	x.r.Body = io.NopCloser(bytes.NewReader(body))
	return Running
}

// gone is why the client cannot be talked to any more.
func (x *run) gone() EndState {
	if x.srv.life.Err() != nil {
		return EndReleased
	}
	return EndClientGone
}

// left reports whether the client is known to be gone. net/http looks for that
// once the whole request has been read.
func (x *run) left() bool {
	select {
	case <-x.r.Context().Done():
		return true
	case <-x.conn.gone():
		return true
	default:
		return false
	}
}

func (x *run) handle() EndState {
	if end := x.read(); end != Running {
		return end
	}
	x.held = newHeld()
	x.call(x.held)
	x.held.seal(x.r.Method)
	x.log.update(func(e *Exchange) { e.answer = x.held.status })
	return Running
}

func (x *run) status(st Step) EndState {
	if x.r.Header.Get("Expect") == "" {
		if end := x.read(); end != Running {
			return end
		}
	}
	x.held = canned(st)
	x.held.seal(x.r.Method)
	return Running
}

func (x *run) delay(d time.Duration) EndState {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return Running
	case <-x.srv.life.Done():
		return EndReleased
	}
}

func (x *run) hang() EndState {
	select {
	case <-x.r.Context().Done(): // the client has gone, or Close was called
	case <-x.conn.gone():
	}
	return x.gone()
}

// send sends the held response up to the n-th byte of its body.
func (x *run) send(n int) EndState {
	if x.left() {
		return x.gone()
	}
	if x.write(n) != nil || http.NewResponseController(x.w).Flush() != nil {
		return x.gone()
	}
	return Running
}

// finish sends what is left of the held response. net/http does the last
// flush, when the record is complete, and closes the connection if the handler
// had declared a longer body.
func (x *run) finish() {
	if x.left() {
		x.log.end(x.gone())
		panic(http.ErrAbortHandler)
	}
	end := EndOK
	if x.held.short {
		end = EndClosed
	}
	x.log.end(end)
	if x.write(x.held.body.Len()) != nil {
		x.log.update(func(e *Exchange) { e.End = x.gone() })
		panic(http.ErrAbortHandler)
	}
	x.held.writeTrailers(x.w)
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

// stream lets the handler answer by itself.
func (x *run) stream() {
	x.call(&tap{ResponseWriter: x.w, log: x.log})
	x.readRest()
	end := x.streamed()
	x.log.end(end)
	if end == EndReleased {
		panic(http.ErrAbortHandler) // an answer might still get out before Close has cut the connection
	}
}

// streamed completes the record of a handler that answered by itself, and
// returns how that ends. A handler that wrote less than it had declared makes
// net/http close the connection.
func (x *run) streamed() (end EndState) {
	declared, _ := strconv.ParseInt(x.w.Header().Get("Content-Length"), 10, 64)
	left, why := x.left(), x.gone()
	x.log.update(func(e *Exchange) {
		e.answer = cmp.Or(e.Status, http.StatusOK)
		switch {
		case e.End != Running: // hijacked
		case left:
			end = why
		case e.Bytes < declared && e.Method != http.MethodHead && e.Status != http.StatusNotModified:
			end = EndClosed
		default:
			e.Status, e.Sent, end = e.answer, SentComplete, EndOK
		}
	})
	return end
}

// readRest reads what a handler left of a small body of known length, for the
// record. net/http is about to do the same; a client that sends such a body does
// not wait for the answer first, unless it said so with Expect.
func (x *run) readRest() {
	if n := x.r.ContentLength; n > 0 && n <= bodyLimit && x.r.Header.Get("Expect") == "" {
		io.Copy(io.Discard, x.r.Body)
	}
}

// call runs the handler.
func (x *run) call(w http.ResponseWriter) {
	x.log.update(func(e *Exchange) { e.Handled = true })
	x.srv.handler.ServeHTTP(w, x.r)
}
