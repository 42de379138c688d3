package httptestx

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
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
	by   draw          // what Latency draws from; its step is the one in progress
	last bool          // no step follows the one in progress
	pace pace          // of what is sent, by Slow
	raw  takeover      // the connection, once raw bytes were sent
	info int           // informational responses that were sent
}

// serve is the server's handler. Giving up on the connection is a panic with
// ErrAbortHandler, the one way that net/http offers.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.leave()
	c := r.Context().Value(connKey{}).(*conn)
	log := s.journal.arrive(c, s.describe(r, c.open(r)))
	defer log.leave()
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), entryKey{}, log))
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
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
	x.admit()
	plan, by := s.planFor(view)
	x.by = by
	x.execute(plan)
	r.MultipartForm = view.MultipartForm // net/http removes the files of the request it knows
	returned = true
}

// execute does the steps in turn.
func (x *run) execute(plan []Step) {
	for i, st := range plan {
		x.log.update(func(e *Exchange) { e.Plan, e.at = plan, i })
		x.by.step, x.last = i+1, i == len(plan)-1
		if st == Handle && x.last {
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
	if x.raw.conn != nil {
		x.step(Close)
		panic(http.ErrAbortHandler)
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
	case opLatency:
		return x.latency(st)
	case opStatus:
		return x.status(st)
	case opInformational:
		return x.informational(st)
	case opSend:
		return x.send(int(st.n))
	case opSendRaw:
		return x.sendRaw(st, []byte(st.text))
	case opSlow:
		x.pace.bytes, x.pace.every = int(st.n), st.every
		return Running
	case opMalformed:
		return x.malformed(st)
	case opReset:
		x.log.end(EndReset)
		x.conn.abort()
		return EndReset
	case opClose:
		x.log.end(EndClosed)
		x.conn.finish()
		return EndClosed
	case opResetStream:
		return x.resetStream(st)
	case opGoAway:
		return x.goAway(st)
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
	if fate := x.srv.journal.fateOf(x.conn, x.log.x.Stream); fate != Running {
		return fate
	}
	return EndClientGone
}

// admit turns a request away whose client was told so before it arrived.
func (x *run) admit() {
	if fate := x.srv.journal.fateOf(x.conn, x.log.x.Stream); fate != Running {
		x.log.end(fate)
		panic(http.ErrAbortHandler)
	}
}

// left reports whether the client is known to be gone, or about to be cut off.
// net/http looks for the first once the whole request has been read.
func (x *run) left() bool {
	select {
	case <-x.r.Context().Done():
		return !x.streamEnded()
	case <-x.conn.gone():
		return true
	case <-x.srv.life.Done(): // of which the context hears a little later
		return true
	default:
		return x.srv.journal.fateOf(x.conn, x.log.x.Stream) != Running
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

func (x *run) latency(st Step) EndState {
	d := st.dist.pick(x.by)
	x.log.update(func(e *Exchange) {
		e.Latency += d
		e.drawn = append(e.drawn, d)
	})
	return x.delay(d)
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
	if x.raw.conn != nil {
		io.Copy(io.Discard, x.raw.conn) // ends when either side closes the connection
		return x.gone()
	}
	select {
	case <-x.r.Context().Done(): // the client has gone, or Close was called
	case <-x.conn.gone():
	}
	return x.gone()
}

// stream lets the handler answer by itself.
func (x *run) stream() {
	direct := &tap{ResponseWriter: x.w, log: x.log}
	if x.pace.bytes > 0 {
		x.dribble(direct)
	} else {
		x.call(direct)
	}
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

// call runs the handler. Idempotent says by itself whether it runs the one in it.
func (x *run) call(w http.ResponseWriter) {
	if !x.log.mayHandle(x.conn) {
		x.log.end(EndRefused)
		panic(http.ErrAbortHandler)
	}
	if _, decides := x.srv.handler.(*idempotent); !decides {
		x.log.update(func(e *Exchange) { e.Handled = true })
	}
	x.srv.handler.ServeHTTP(w, x.r)
}
