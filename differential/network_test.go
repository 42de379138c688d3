package differential

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A network connects a client with a server in memory. It is calm on purpose: a
// connection that is closed ends, it is never reset, and its addresses are always
// the same. What differs between two runs then does so because of the client.
type network struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	conns []*conn
}

func newNetwork() *network {
	return &network{incoming: make(chan net.Conn, 64), closed: make(chan struct{})}
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	client, server := connect()
	select {
	case <-n.closed:
		return nil, net.ErrClosed
	case n.incoming <- server:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, client, server)
	return client, nil
}

// Accept makes a network the listener of its server.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.incoming:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Addr() net.Addr { return serverAddr }

// Close ends every connection as well, so that nothing waits on one for ever.
func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	n.hangUp()
	return nil
}

// hangUp ends every connection that there is.
func (n *network) hangUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
}

var (
	clientAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 1000}
	serverAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
)

// A conn is one end of a connection. It waits on a condition only, so that the
// time of a synctest bubble goes on. Everything below link is under the lock that
// both ends share.
type conn struct {
	*link
	peer     *conn
	in       bytes.Buffer
	ended    bool // the peer will write no more
	closed   bool
	deadline [2]time.Time
}

type link struct {
	mu      sync.Mutex
	changed sync.Cond
}

// window is how much may be on its way in one direction.
const window = 64 << 10

func connect() (client, server *conn) {
	l := &link{}
	l.changed.L = &l.mu
	client, server = &conn{link: l}, &conn{link: l}
	client.peer, server.peer = server, client
	return client, server
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.fail("read", net.ErrClosed)
		case c.late(reading):
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		case c.in.Len() > 0:
			c.changed.Broadcast()
			return c.in.Read(p)
		case c.ended:
			return 0, io.EOF
		}
		c.changed.Wait()
	}
}

func (c *conn) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return n, c.fail("write", net.ErrClosed)
		case c.peer.ended, c.peer.closed:
			return n, c.fail("write", syscall.EPIPE)
		case c.late(writing):
			return n, c.fail("write", os.ErrDeadlineExceeded)
		}
		some := min(len(p)-n, window-c.peer.in.Len())
		c.peer.in.Write(p[n : n+some])
		n += some
		c.changed.Broadcast()
		if n == len(p) {
			return n, nil
		}
		c.changed.Wait()
	}
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.closed, c.peer.ended = true, true
	c.changed.Broadcast()
	return nil
}

// CloseWrite is what an upgraded connection may ask for.
func (c *conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer.ended = true
	c.changed.Broadcast()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return clientAddr }
func (c *conn) RemoteAddr() net.Addr { return serverAddr }

const (
	reading = iota
	writing
)

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.until(reading, t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.until(writing, t) }

func (c *conn) until(what int, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline[what] = t
	c.changed.Broadcast()
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		time.AfterFunc(wait, func() { // one too many wakes somebody for nothing
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
	}
	return nil
}

func (c *conn) late(what int) bool {
	t := c.deadline[what]
	return !t.IsZero() && !time.Now().Before(t)
}

func (c *conn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: clientAddr, Addr: serverAddr, Err: err}
}
