package httptestx

import (
	"io"
	"net/http"
	"time"
)

// Slow makes what follows dribble: bodies that [Send], the end of the plan or a
// last [Handle] send, and all of [SendRaw] and [Malformed], go in pieces of n
// bytes, the first at once and each other one every after the piece before. The headers of
// an answer that is not raw are one piece with the first bytes of its body. n is 1 or
// more, every above zero. A client that goes away ends it. A second Slow replaces the
// first. Where Handle is the last step, the whole request is read before it.
func Slow(n int, every time.Duration) Step {
	switch {
	case n < 1:
		return invalid("slow(%d, %v): want 1 byte or more", n, every)
	case every <= 0:
		return invalid("slow(%d, %v): want a time above zero", n, every)
	}
	return Step{op: opSlow, n: int64(n), every: every}
}

// pace is the speed of what is sent; zero is as fast as it goes.
type pace struct {
	bytes int
	every time.Duration
	begun bool // a piece was sent
}

// cut returns how many of n bytes are one piece.
func (p *pace) cut(n int) int {
	if p.bytes == 0 {
		return n
	}
	return min(n, p.bytes)
}

// before returns the place in a body of n bytes, sent up to from, where its last
// piece begins.
func (p *pace) before(from, n int) int {
	if p.bytes == 0 || from >= n {
		return from
	}
	return from + (n-from-1)/p.bytes*p.bytes
}

// pause waits for the time of the next piece, unless the client leaves or the
// server is closed.
func (x *run) pause() EndState {
	if x.pace.bytes == 0 {
		return Running
	}
	first := !x.pace.begun
	x.pace.begun = true
	if first {
		return Running
	}
	timer := time.NewTimer(x.pace.every)
	defer timer.Stop()
	select {
	case <-timer.C:
		return Running
	case <-x.r.Context().Done():
	case <-x.conn.gone():
	case <-x.srv.life.Done(): // a connection that was taken over has no context that ends
	}
	return x.gone()
}

// dribble runs a handler that answers by itself. The request is read first, because
// net/http would take it, unrecorded, at the first flush.
func (x *run) dribble(direct *tap) {
	if end := x.read(); end != Running {
		x.log.end(end)
		panic(http.ErrAbortHandler)
	}
	x.call(dribble{direct, x})
}

// dribble is the ResponseWriter of a handler that answers by itself, slowly.
type dribble struct {
	*tap
	x *run
}

func (d dribble) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if d.x.pause() != Running {
			return n, io.ErrClosedPipe
		}
		k, err := d.tap.Write(p[n : n+d.x.pace.cut(len(p)-n)])
		n += k
		if err != nil {
			return n, err
		}
		if err := d.FlushError(); err != nil {
			return n, err
		}
	}
	return n, nil
}
