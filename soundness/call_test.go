package soundness_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A call is one use of the client, and all that is known about it from both ends.
type call struct {
	world  *world
	id     int
	method string
	keyed  bool
	body   bool
	text   string // what it is, for a person
	ctx    context.Context
	leave  moment
	yields int

	cancel context.CancelFunc
	gone   sync.Once
	sends  atomic.Int32 // of the dispatch that runs, as the trace has them
	all    atomic.Int32 // sends so far
	wrote  atomic.Bool  // headers, in the dispatch that runs

	mu       sync.Mutex
	started  int // runs of the handler, whatever became of them
	arrived  int // complete requests
	ran      int // handlers that acted on a complete request
	excused  int // of these, such as net/http repeats by itself though it should not
	outcomes []outcome
	told     int // sends that we were told of
	open     int // of these, such as may have been processed
	faults   []string
}

// A moment is when the caller leaves.
type moment int

const (
	never moment = iota
	atTime
	atDeadline
	atConn
	atHeaders
	atWritten
	atByte
	atBodyRead
	atHandler
	atBodyEnd
	atResponse
	atBodyOfResponse
)

var moments = []lot[moment]{
	{58, "stays", never},
	{9, "leaves at some time", atTime},
	{9, "leaves by deadline", atDeadline},
	{2, "leaves at the connection", atConn},
	{4, "leaves when the headers are written", atHeaders},
	{3, "leaves when the request is written", atWritten},
	{4, "leaves at a byte", atByte},
	{3, "leaves when the body is read", atBodyRead},
	{2, "leaves when the handler begins", atHandler},
	{3, "leaves when the handler has the body", atBodyEnd},
	{1, "leaves at the first byte of the response", atResponse},
	{2, "leaves in the body of the response", atBodyOfResponse},
}

// How the network fails a send.
type failure func(c *call, d dice, size int) cut

var failures = []lot[failure]{
	{4, "reset while it is read", func(_ *call, d dice, size int) cut { return cut{inward, d.upTo(size), byReset} }},
	{3, "closed while it is read", func(_ *call, d dice, size int) cut { return cut{inward, d.upTo(size), byClose} }},
	{2, "half closed while it is read", func(_ *call, d dice, size int) cut { return cut{inward, d.upTo(size), byHalf} }},
	{2, "silent while it is read", func(_ *call, d dice, size int) cut { return cut{inward, d.upTo(size), bySilence} }},
	{3, "bit error", func(c *call, d dice, size int) cut {
		if !encrypted(c.world.protocol) {
			return cut{inward, 1, byReset}
		}
		return cut{inward, d.upTo(size), byBitError}
	}},
	{3, "reset before it is read", func(*call, dice, int) cut { return cut{inward, 0, byReset} }},
	{3, "closed before it is read", func(*call, dice, int) cut { return cut{inward, 0, byClose} }},
	{4, "reset while it is answered", func(_ *call, d dice, _ int) cut { return cut{outward, d.size(1000), byReset} }},
	{3, "closed while it is answered", func(_ *call, d dice, _ int) cut { return cut{outward, d.size(1000), byClose} }},
	{2, "silent while it is answered", func(_ *call, d dice, _ int) cut { return cut{outward, d.size(1000), bySilence} }},
}

func (w *world) newCall(id int) (*call, *http.Request, dice) {
	d := w.seed.dice(aboutCall, id, 0)
	c := &call{world: w, id: id, keyed: d.percent(15), yields: d.upTo(3) * d.upTo(20)}
	c.method = draw(d, []lot[string]{
		{78, "", http.MethodPost}, {5, "", http.MethodPatch}, {7, "", http.MethodPut},
		{6, "", http.MethodGet}, {4, "", http.MethodDelete},
	}).what
	r, _ := http.NewRequest(c.method, w.url, nil)
	size, fill := d.size(2000), draw(d, fillings)
	if d.percent(12) {
		size = d.upTo(largest - 100)
	}
	if c.method != http.MethodGet && c.method != http.MethodDelete {
		fill.what(c, r, d, size)
	}
	r.Header.Set("X-Call", strconv.Itoa(id))
	if c.keyed {
		r.Header.Set("Idempotency-Key", strconv.Itoa(id))
	}
	if d.percent(10) {
		r.Header.Set("Expect", "100-continue")
	}
	leave := draw(d, moments)
	c.leave = leave.what
	c.text = fmt.Sprintf("%s, %s of %d bytes, keyed %t, %s", c.method, fill.name, size, c.keyed, leave.name)
	w.tally.add("request: " + fill.name)
	w.tally.add("caller " + leave.name)
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), callKey{}, c))
	return c, r.WithContext(httptrace.WithClientTrace(c.ctx, c.trace(size))), d
}

type callKey struct{}

func (c *call) trace(size int) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			c.sends.Add(1)
			c.spoil(info, int(c.all.Add(1)), size)
			c.happened(atConn)
		},
		WroteHeaders: func() {
			c.wrote.Store(true)
			c.happened(atHeaders)
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { c.happened(atWritten) },
		GotFirstResponseByte: func() { c.happened(atResponse) },
	}
}

// spoil decides what the network does to the n-th send of the call.
func (c *call) spoil(info httptrace.GotConnInfo, n, size int) {
	d := c.world.seed.dice(aboutSend, c.id, n)
	if c.leave == atByte {
		at := 1 + d.upTo(size+400)
		c.world.net.at(info.Conn.LocalAddr(), func(e *cable) { e.notify(notice{at, func() { c.happened(atByte) }}) })
	}
	if !d.percent(c.world.hostile) {
		return
	}
	f := draw(d, failures)
	k := f.what(c, d, size+400)
	c.fault(f.name)
	c.world.net.at(info.Conn.LocalAddr(), func(e *cable) { e.cut(k) })
}

// fault notes what the call met.
func (c *call) fault(name string) {
	c.world.tally.add("fault: " + name)
	c.note(name)
}

func (c *call) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, what)
}

// happened makes the caller leave, if this is the moment.
func (c *call) happened(m moment) {
	if c.leave != m {
		return
	}
	c.gone.Do(func() {
		if c.yields == 0 {
			c.cancel()
			return
		}
		go func() {
			for range c.yields {
				runtime.Gosched()
			}
			c.cancel()
		}()
	})
}

// do makes the call and reads what comes of it.
func (w *world) do(id int) {
	c, r, d := w.newCall(id)
	defer c.cancel()
	w.calls[id].Store(c)
	switch c.leave {
	case atTime:
		timer := time.AfterFunc(w.scaled(d.wait(2*time.Second)), func() { c.happened(atTime) })
		defer timer.Stop()
	case atDeadline:
		ctx, cancel := context.WithTimeout(r.Context(), w.scaled(d.wait(2*time.Second)))
		defer cancel()
		r = r.WithContext(ctx)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		c.note("caller got: " + err.Error())
		return
	}
	c.note("caller got: " + resp.Status)
	defer resp.Body.Close()
	c.happened(atBodyOfResponse)
	switch {
	case d.percent(70):
		io.Copy(io.Discard, resp.Body)
	case d.percent(50):
		io.CopyN(io.Discard, resp.Body, int64(d.size(largest)))
	}
}

// String tells all that is known about the call.
func (c *call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "call %d: %s\n", c.id, c.text)
	fmt.Fprintf(&b, "  the handler ran %d times; %d starts, %d complete requests; told of %d sends, %d may have been processed\n",
		c.ran, c.started, c.arrived, c.told, c.open)
	for _, o := range c.outcomes {
		fmt.Fprintf(&b, "  %v\n", o)
	}
	fmt.Fprintf(&b, "  %s\n", strings.Join(c.faults, "; "))
	return b.String()
}

func encrypted(p protocol) bool { return p == http1TLS || p == http2TLS }

func overHTTP2(p protocol) bool { return p == http2TLS || p == h2c }
