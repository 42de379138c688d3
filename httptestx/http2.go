package httptestx

import (
	"net/http"
	"strconv"
)

// open completes what net/http knows of a request: that it came over TLS, and
// that there is no body. It returns the HTTP/2 stream, 0 on HTTP/1.
func (c *conn) open(r *http.Request) uint32 {
	if c.tls != nil {
		state := c.tls.ConnectionState()
		r.TLS = &state
	}
	if r.ProtoMajor != 2 {
		return 0
	}
	if r.ContentLength == 0 {
		r.Body = http.NoBody
	}
	tags := r.Header[streamField]
	delete(r.Header, streamField)
	if len(tags) == 0 {
		return 0
	}
	stream, _ := strconv.ParseUint(tags[len(tags)-1], 10, 32) // ours is behind whatever the client sent
	return uint32(stream)
}

// goAway sends a GOAWAY, and keeps its promise: see [GoAway].
func (c *conn) goAway(stream uint32, st Step) {
	c.out.awaitSettings(c.life)
	last := c.srv.journal.refuseAfter(c, stream, st.last(), c.srv.settings.dishonest)
	c.out.goAway(last, st.code())
	switch {
	case st.last() == IncludingThis:
	case last >= stream: // one above was handled
		c.out.resetStream(stream, ErrCodeRefusedStream)
	default:
		c.out.giveUp(stream)
	}
}

// refuseAfter decides the last stream of a GOAWAY, which must never go up (RFC
// 9113, section 6.8), and ends the exchanges above it. A dishonest one goes on with them.
func (j *journal) refuseAfter(c *conn, stream uint32, last Last, dishonest bool) uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	id := stream
	if last == BeforeThis {
		id = max(stream, 2) - 2
	}
	if !dishonest {
		id = max(id, c.handled)
	}
	if c.refusing {
		id = min(id, c.last)
	}
	if dishonest {
		return id
	}
	c.refusing, c.last = true, id
	j.cut(func(x *Exchange) bool { return x.Conn == c.id && x.Stream > id }, EndRefused)
	return id
}

// end ends the exchanges on a connection, for the record. Nobody must be able to tell the
// client about it before the connection ends.
func (c *conn) end(how EndState) {
	if c.out != nil {
		c.out.shut()
	}
	c.srv.journal.endConn(c, how)
}

func (j *journal) endConn(c *conn, how EndState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c.ended == Running {
		c.ended = how
	}
	j.cut(func(x *Exchange) bool { return x.Conn == c.id }, how)
}

// cut ends exchanges for a reason that is not their own. Their plans go on, as
// a server does that has not noticed yet.
func (j *journal) cut(which func(*Exchange) bool, how EndState) {
	for _, x := range j.list {
		if x.End == Running && which(x) {
			j.conclude(x, how)
			x.cut = true
		}
	}
	j.changed.Broadcast()
}

// fateOf returns what the plans, of other requests too, have made of a stream;
// Running if it is good.
func (j *journal) fateOf(c *conn, stream uint32) EndState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return c.of(stream)
}

// of is fateOf for who holds the lock.
func (f *fate) of(stream uint32) EndState {
	switch {
	case f.ended != Running:
		return f.ended
	case f.refusing && stream > f.last:
		return EndRefused
	}
	return Running
}

// mayHandle reports whether the handler may run for a request: not if the
// client was told that it does not.
func (e entry) mayHandle(c *conn) bool {
	e.journal.mu.Lock()
	defer e.journal.mu.Unlock()
	stream := e.x.Stream
	if c.refusing && stream > c.last {
		return false
	}
	c.handled = max(c.handled, stream)
	return true
}
