package soundness_test

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// An exchange is one run of the handler.
type exchange struct {
	answers http.ResponseWriter
	request *http.Request
	world   *world
	call    *call
	cable   *cable
	tap     *tap // nil over HTTP/1
	stream  uint32
	dice    dice
}

// A deed is one of the things that a handler does. It reports whether it goes on.
type deed func(x *exchange) bool

// What happens before the body is read, and whether the handler is going to act.
var firsts = []lot[deed]{
	{64, "", func(*exchange) bool { return true }},
	{6, "refuses before it reads", (*exchange).refuse},
	{5, "refuses after it has read", func(x *exchange) bool {
		x.read(nil)
		return x.refuse()
	}},
	{3, "answers early", func(x *exchange) bool { return x.answer(one(x.dice, 200, 413, 401)) }},
	{3, "REFUSED_STREAM", func(x *exchange) bool { return x.tap == nil || x.reset(codeRefused) }},
	{3, "aborts before it reads", func(x *exchange) bool { x.actUnlessBody(); return x.abort() }},
	{2, "stalls before it reads", func(x *exchange) bool { x.actUnlessBody(); return x.stall() }},
	{3, "cut before it reads", func(x *exchange) bool {
		x.cable.cut(cut{inward, x.dice.size(3000), x.manner()})
		return true
	}},
	{8, "is late", func(x *exchange) bool { x.pause(2 * time.Second); return true }},
	{2, "sends early hints", func(x *exchange) bool { x.answers.WriteHeader(http.StatusEarlyHints); return true }},
	{1, "sends 100 and waits", func(x *exchange) bool {
		x.answers.WriteHeader(http.StatusContinue)
		x.pause(time.Second)
		return true
	}},
}

// How the body is read.
var readings = []lot[deed]{
	{70, "", func(x *exchange) bool { return x.read(nil) }},
	{15, "reads slowly", func(x *exchange) bool { return x.read(func() { x.pause(100 * time.Millisecond) }) }},
	{4, "aborts while it reads", func(x *exchange) bool { x.readSome(); return x.abort() }},
	{3, "stalls while it reads", func(x *exchange) bool { x.readSome(); return x.stall() }},
	{3, "answers while it reads", func(x *exchange) bool { x.readSome(); return x.answer(one(x.dice, 200, 413)) }},
	{3, "refuses while it reads", func(x *exchange) bool { x.readSome(); return x.refuse() }},
	{4, "cut while it reads", func(x *exchange) bool {
		if !x.readSome() {
			return false
		}
		x.cable.cut(cut{inward, x.dice.size(3000), x.manner()})
		return x.read(nil)
	}},
}

// What happens after the handler has acted: no status that denies it.
var lasts = []lot[deed]{
	{36, "", func(x *exchange) bool { return x.answer(200) }},
	{10, "answers late", func(x *exchange) bool { x.pause(2 * time.Second); return x.answer(200) }},
	{6, "answers at length", func(x *exchange) bool { return x.answerAtLength(x.dice.upTo(largest)) }},
	{4, "answers at length, cut", func(x *exchange) bool {
		x.answers.Header().Set("Content-Length", strconv.Itoa(largest))
		x.answerAtLength(x.dice.upTo(largest - 1))
		return x.abort()
	}},
	{7, "fails", func(x *exchange) bool { return x.answer(one(x.dice, 500, 501, 502, 504, 507)) }},
	{3, "says no", func(x *exchange) bool { return x.answer(one(x.dice, 400, 404, 409, 422)) }},
	{6, "aborts after it acted", (*exchange).abort},
	{3, "aborts late", func(x *exchange) bool { x.pause(2 * time.Second); return x.abort() }},
	{4, "stalls after it acted", (*exchange).stall},
	{6, "cut when it answers", func(x *exchange) bool {
		x.cable.cut(cut{outward, x.dice.size(600), x.manner()})
		return x.answer(200)
	}},
	{3, "cut after the answer", func(x *exchange) bool {
		x.answer(200)
		x.cable.cut(cut{outward, 1 + x.dice.size(600), x.manner()})
		return false
	}},
	{4, "closes the connection", func(x *exchange) bool {
		x.answers.Header().Set("Connection", "close")
		return x.answer(200)
	}},
	{8, "RST_STREAM", func(x *exchange) bool {
		if x.tap == nil {
			return x.answer(200)
		}
		return x.reset(one[uint32](x.dice, codeNone, codeProtocol, codeInternal, codeFlow, codeCancel, codeCalm, codeHTTP1))
	}},
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	id, _ := strconv.Atoi(r.Header.Get("X-Call"))
	x := &exchange{answers: rw, request: r, world: w, call: w.calls[id].Load()}
	link := r.Context().Value(linkKey{}).(link)
	x.cable, x.tap = link.cable, link.tap
	if n, err := strconv.Atoi(r.Header.Get(streamHeader)); err == nil {
		x.stream = uint32(n)
	} else {
		x.tap = nil
	}
	x.call.mu.Lock()
	x.call.started++
	x.dice = w.seed.dice(aboutHandler, id, x.call.started)
	x.call.mu.Unlock()
	x.call.happened(atHandler)
	reading := readings
	if !x.call.body {
		reading = readings[:1]
	}
	if x.one(firsts) && x.one(reading) {
		x.act()
		x.one(lasts)
	}
}

// one does one of several deeds.
func (x *exchange) one(of []lot[deed]) bool {
	l := draw(x.dice, of)
	if l.name != "" {
		x.call.fault("handler " + l.name)
	}
	return l.what(x)
}

// act is the side effect: what a request that was never processed has not had.
func (x *exchange) act() {
	x.call.mu.Lock()
	x.call.ran++
	x.call.faults = append(x.call.faults, "handler ACTED")
	x.call.mu.Unlock()
}

// actUnlessBody is for a handler that begins and does not come to read: of a
// request without a body it has all that there is.
func (x *exchange) actUnlessBody() {
	if !x.call.body {
		x.call.mu.Lock()
		x.call.arrived++
		x.call.mu.Unlock()
		x.act()
	}
}

// read reads the body and reports whether it was complete.
func (x *exchange) read(between func()) bool {
	b := make([]byte, 32<<10)
	for range 40 {
		_, err := x.request.Body.Read(b[:1+x.dice.upTo(len(b)-1)])
		if err == io.EOF {
			return x.complete()
		}
		if err != nil {
			return false
		}
		if between != nil {
			between()
		}
	}
	if _, err := io.Copy(io.Discard, x.request.Body); err != nil {
		return false
	}
	return x.complete()
}

func (x *exchange) complete() bool {
	x.call.mu.Lock()
	x.call.arrived++
	x.call.mu.Unlock()
	x.call.happened(atBodyEnd)
	return true
}

// readSome reads a part of the body, or all of it without acting. It reports
// whether it could: after an error net/http has io.EOF for who reads on.
func (x *exchange) readSome() bool {
	_, err := io.CopyN(io.Discard, x.request.Body, int64(x.dice.size(2000)))
	return err == nil
}

// refuse says, truly, that nothing was done.
func (x *exchange) refuse() bool {
	return x.answer(one(x.dice, http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusTooManyRequests,
		http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly))
}

func (x *exchange) answer(status int) bool {
	x.answers.WriteHeader(status)
	x.answers.Write(content[:x.dice.size(500)])
	return false
}

func (x *exchange) answerAtLength(n int) bool {
	for n > 0 {
		k := min(n, 32<<10)
		if _, err := x.answers.Write(content[:k]); err != nil {
			return false
		}
		n -= k
		if x.dice.percent(10) {
			x.pause(200 * time.Millisecond)
		}
	}
	return false
}

func (x *exchange) abort() bool { panic(http.ErrAbortHandler) }

func (x *exchange) reset(code uint32) bool {
	if code == codeProtocol {
		// net/http sends a request without a body again after that, whatever it is
		// (docs/adr/0010): the handler may run once more, and that is told.
		x.call.mu.Lock()
		x.call.excused++
		x.call.mu.Unlock()
	}
	x.tap.resetStream(x.stream, code)
	return x.abort()
}

// stall waits until the client has left, or the test has ended.
func (x *exchange) stall() bool {
	x.world.hold(x.request.Context(), 30*time.Second)
	return false
}

func (x *exchange) pause(longest time.Duration) {
	x.world.hold(x.request.Context(), x.dice.wait(longest))
}

func (x *exchange) manner() manner { return one(x.dice, byReset, byClose, byHalf, bySilence) }
