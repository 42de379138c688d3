package httptestx

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memBuffer is how many bytes of one direction fit into the in-memory network.
// It is bounded, as the kernel's is, so that a server that does not read stalls
// an upload.
const memBuffer = 64 << 10

// memConn is one end of an in-memory TCP connection. It behaves as Linux does
// (see the package comment) and blocks on a sync.Cond only, so that it is
// durably blocked in a synctest bubble.
//
// Both ends share one lock and one condition. Every field below peer is guarded
// by that lock, and every change of a field that somebody may wait for is
// followed by a broadcast while the lock is held: no wake-up is lost, and no
// order of two locks can go wrong.
type memConn struct {
	link          *memLink
	local, remote net.Addr
	peer          *memConn
	gone          chan struct{} // closed when the peer has closed or reset
	plan          []Step        // the server's; it is no matter of the network
	id            int           // same: that of the connection, 0 if it was not accepted; guarded by the server's lock

	in      bytes.Buffer // received, not yet read
	finSent bool         // we have closed our direction
	finSeen bool         // the peer has closed its direction
	reset   bool         // the peer has reset the connection
	closed  bool         // we have closed this end
	abort   bool         // Close resets: SetLinger(0)

	readBy, writeBy memDeadline
}

// memLink is what the two ends of a connection share.
type memLink struct {
	mu      sync.Mutex
	changed sync.Cond
}

// memPipe returns the two ends of a new connection.
func memPipe(clientAddr, serverAddr net.Addr) (client, server *memConn) {
	link := &memLink{}
	link.changed.L = &link.mu
	client = &memConn{link: link, local: clientAddr, remote: serverAddr, gone: make(chan struct{})}
	server = &memConn{link: link, local: serverAddr, remote: clientAddr, gone: make(chan struct{})}
	client.peer, server.peer = server, client
	return client, server
}

// Read implements [net.Conn]. The end of the stream comes before a reset, as it
// does in Linux: once a FIN was seen, a reset does not change what reads say.
func (c *memConn) Read(p []byte) (int, error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.opError("read", net.ErrClosed)
		case c.readBy.passed:
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case c.in.Len() > 0:
			n, _ := c.in.Read(p)
			c.link.changed.Broadcast()
			return n, nil
		case c.finSeen:
			return 0, io.EOF
		case c.reset:
			return 0, c.opError("read", os.NewSyscallError("read", syscall.ECONNRESET))
		case len(p) == 0:
			return 0, nil
		}
		c.link.changed.Wait()
	}
}

// Write implements [net.Conn].
func (c *memConn) Write(p []byte) (n int, err error) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		switch {
		case c.closed:
			return n, c.opError("write", net.ErrClosed)
		case c.writeBy.passed:
			return n, c.opError("write", os.ErrDeadlineExceeded)
		case c.reset || c.finSent:
			return n, c.opError("write", os.NewSyscallError("write", syscall.EPIPE))
		case c.peer.closed:
			// Nobody is there any more: the bytes leave, and a RST comes back.
			c.reset = true
			c.link.changed.Broadcast()
			return len(p), nil
		}
		k := min(len(p)-n, memBuffer-c.peer.in.Len())
		if k > 0 {
			c.peer.in.Write(p[n : n+k])
			n += k
			c.link.changed.Broadcast()
		}
		if n == len(p) {
			return n, nil
		}
		c.link.changed.Wait()
	}
}

// Close implements [net.Conn]. As in Linux it resets the connection when input
// is left unread, or after SetLinger(0), and else sends a FIN.
func (c *memConn) Close() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.closed = true
	if c.abort || c.in.Len() > 0 {
		c.peer.reset = true
	} else {
		c.peer.finSeen = true
	}
	c.in = bytes.Buffer{}
	c.readBy.set(c.link, time.Time{})
	c.writeBy.set(c.link, time.Time{})
	close(c.peer.gone)
	c.link.changed.Broadcast()
	return nil
}

// CloseWrite sends a FIN and leaves the other direction open.
func (c *memConn) CloseWrite() error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.opError("close", net.ErrClosed)
	}
	c.finSent = true
	c.peer.finSeen = true
	c.link.changed.Broadcast()
	return nil
}

// SetLinger makes Close reset the connection if sec is 0. Waiting for the peer,
// sec > 0, is not modelled.
func (c *memConn) SetLinger(sec int) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.abort = sec == 0
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.readBy, &c.writeBy)
}

func (c *memConn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy) }

func (c *memConn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeBy) }

func (c *memConn) setDeadlines(t time.Time, deadlines ...*memDeadline) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	for _, d := range deadlines {
		d.set(c.link, t)
	}
	c.link.changed.Broadcast()
	return nil
}

func (c *memConn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// memDeadline is a point in time after which reads, or writes, fail. It is
// guarded by the link's lock.
type memDeadline struct {
	timer      *time.Timer
	passed     bool
	generation int // counts calls of set, so that a timer that was too late to stop is ignored
}

func (d *memDeadline) set(link *memLink, t time.Time) {
	d.generation++
	d.passed = false
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.passed = true
		return
	}
	mine := d.generation
	d.timer = time.AfterFunc(wait, func() {
		link.mu.Lock()
		defer link.mu.Unlock()
		if d.generation == mine {
			d.passed = true
			link.changed.Broadcast()
		}
	})
}
