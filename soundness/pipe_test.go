package soundness_test

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// How much one direction of a pipe holds. HTTP/1 gets as much as the kernel's
// buffers hold. Over HTTP/2 a write that waits would hold a mutex of net/http,
// and whoever waits for a mutex stops the time of a bubble; there it is flow
// control that bounds what is under way. For the same reason the last word of a
// TLS connection, which net/http writes under a mutex, finds room at any time.
const (
	bounded = 64 << 10
	endless = 1 << 30

	lastWord = 64
)

// A pipe is one end of a connection in memory. It fails as one of the kernel
// does, and who waits for it waits in a way that lets a bubble's time go on.
type pipe struct {
	shared      *sync.Cond // of both ends
	local, peer net.Addr
	other       *pipe
	room        int

	in       []byte
	finished bool // the other end will send no more
	reset    bool // the connection was reset by the other end
	closed   bool // by us
	abort    bool // closing resets
	readBy   deadline
	writeBy  deadline
}

func newPipe(client, server net.Addr, room int) (a, b *pipe) {
	c := sync.NewCond(&sync.Mutex{})
	a, b = &pipe{shared: c, local: client, peer: server, room: room}, &pipe{shared: c, local: server, peer: client, room: room}
	a.other, b.other = b, a
	return a, b
}

func (p *pipe) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: p.local, Addr: p.peer, Err: err}
}

func (p *pipe) Read(b []byte) (int, error) {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	for {
		switch {
		case p.closed:
			return 0, p.fail("read", net.ErrClosed)
		case p.readBy.passed():
			return 0, p.fail("read", os.ErrDeadlineExceeded)
		case len(p.in) > 0:
			n := copy(b, p.in)
			p.in = p.in[n:]
			p.shared.Broadcast()
			return n, nil
		case p.finished:
			return 0, io.EOF
		case p.reset:
			return 0, p.fail("read", os.NewSyscallError("read", syscall.ECONNRESET))
		case len(b) == 0:
			return 0, nil
		}
		p.shared.Wait()
	}
}

func (p *pipe) Write(b []byte) (n int, err error) {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	for {
		switch {
		case p.closed:
			return n, p.fail("write", net.ErrClosed)
		case p.writeBy.passed():
			return n, p.fail("write", os.ErrDeadlineExceeded)
		case p.reset || p.other.finished:
			return n, p.fail("write", os.NewSyscallError("write", syscall.EPIPE))
		case p.other.closed: // these bytes leave still, and a reset comes back
			p.reset = true
			p.shared.Broadcast()
			return len(b), nil
		}
		room := p.room - len(p.other.in)
		if len(b) <= lastWord {
			room = len(b)
		}
		if k := min(len(b)-n, room); k > 0 {
			p.other.in = append(p.other.in, b[n:n+k]...)
			n += k
			p.shared.Broadcast()
		}
		if n == len(b) {
			return n, nil
		}
		p.shared.Wait()
	}
}

// Close sends a FIN, or a RST when something was left unread.
func (p *pipe) Close() error {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	if p.closed {
		return p.fail("close", net.ErrClosed)
	}
	p.closed = true
	if p.abort || len(p.in) > 0 {
		p.other.reset = true
	} else {
		p.other.finished = true
	}
	p.in = nil
	p.readBy.set(p.shared, time.Time{})
	p.writeBy.set(p.shared, time.Time{})
	p.shared.Broadcast()
	return nil
}

func (p *pipe) CloseWrite() error {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	p.other.finished = true
	p.shared.Broadcast()
	return nil
}

func (p *pipe) SetLinger(seconds int) error {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	p.abort = seconds == 0
	return nil
}

func (p *pipe) LocalAddr() net.Addr  { return p.local }
func (p *pipe) RemoteAddr() net.Addr { return p.peer }

func (p *pipe) SetDeadline(t time.Time) error      { return p.setDeadlines(t, &p.readBy, &p.writeBy) }
func (p *pipe) SetReadDeadline(t time.Time) error  { return p.setDeadlines(t, &p.readBy) }
func (p *pipe) SetWriteDeadline(t time.Time) error { return p.setDeadlines(t, &p.writeBy) }

func (p *pipe) setDeadlines(t time.Time, which ...*deadline) error {
	p.shared.L.Lock()
	defer p.shared.L.Unlock()
	if p.closed {
		return p.fail("set", net.ErrClosed)
	}
	for _, d := range which {
		d.set(p.shared, t)
	}
	p.shared.Broadcast()
	return nil
}

// A deadline wakes who waits when it has passed.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) set(shared *sync.Cond, t time.Time) {
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			shared.L.Lock()
			defer shared.L.Unlock()
			shared.Broadcast()
		})
	}
}
