package soundness_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A network connects the client with the server, in memory or by the kernel,
// and finds the server's end of a connection by the address of the other.
type network struct {
	seed  seed
	tally *tally
	tls   bool
	room  int
	pause func(time.Duration)
	hold  func(context.Context, time.Duration) // waits; ends with the context, or with the world
	real  net.Listener                         // nil: in memory
	queue chan net.Conn
	down  chan struct{}

	freed   sync.Once
	mu      sync.Mutex
	dials   int
	conns   int
	ends    map[string]*cable // by the client's address
	pending map[string][]func(*cable)
	closed  bool
}

// What becomes of a dial.
type dialing func(n *network, ctx context.Context, d dice) (net.Conn, error)

func dials(tls bool) []lot[dialing] {
	lots := []lot[dialing]{
		{88, "dial", (*network).connect},
		{3, "dial refused", func(*network, context.Context, dice) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}},
		{2, "dial: no such host", func(*network, context.Context, dice) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
		}},
		{1, "dial: odd error", func(*network, context.Context, dice) (net.Conn, error) {
			return nil, errors.New("proxy is out of order")
		}},
		{2, "dial hangs", func(n *network, ctx context.Context, _ dice) (net.Conn, error) {
			n.hold(ctx, 5*time.Second)
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}},
		{2, "dial slow", func(n *network, ctx context.Context, d dice) (net.Conn, error) {
			n.hold(ctx, d.wait(300*time.Millisecond))
			return n.connect(ctx, d)
		}},
	}
	if tls {
		lots = append(lots, lot[dialing]{3, "handshake cut", (*network).cutHandshake})
	}
	return lots
}

func (n *network) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	d := n.seed.dice(aboutDial, n.dials, 0)
	n.mu.Unlock()
	how := draw(d, dials(n.tls))
	n.tally.add(how.name)
	return how.what(n, ctx, d)
}

func (n *network) connect(ctx context.Context, _ dice) (net.Conn, error) {
	if n.real != nil {
		addr := n.real.Addr()
		return new(net.Dialer).DialContext(ctx, addr.Network(), addr.String())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, net.ErrClosed
	}
	n.dials++
	ip := func(last byte) net.IP { return net.IPv4(192, 0, 2, last) } // RFC 5737
	client, server := newPipe(&net.TCPAddr{IP: ip(2), Port: n.dials}, &net.TCPAddr{IP: ip(1), Port: 80}, n.room)
	n.queue <- server
	return client, nil
}

func (n *network) cutHandshake(ctx context.Context, d dice) (net.Conn, error) {
	conn, err := n.connect(ctx, d)
	if err == nil {
		k := cut{one(d, inward, outward), d.size(1500), one(d, byReset, byClose, byHalf, bySilence)}
		n.at(conn.LocalAddr(), func(c *cable) { c.cut(k) })
	}
	return conn, err
}

// at does something with the server's end, when it is there.
func (n *network) at(client net.Addr, do func(*cable)) {
	n.mu.Lock()
	c := n.ends[client.String()]
	if c == nil {
		n.pending[client.String()] = append(n.pending[client.String()], do)
	}
	n.mu.Unlock()
	if c != nil {
		do(c)
	}
}

// Accept makes a network the listener of the server.
func (n *network) Accept() (net.Conn, error) {
	conn, err := n.next()
	if err != nil {
		return nil, err
	}
	addr := conn.RemoteAddr().String()
	n.mu.Lock()
	n.conns++
	d := n.seed.dice(aboutConn, n.conns, 0)
	c := &cable{wire: conn.(wire), pause: n.pause, dice: d, wants: n.tls && d.percent(3)}
	if d.percent(15) {
		c.slow = 40
	}
	n.ends[addr] = c
	pending := n.pending[addr]
	delete(n.pending, addr)
	n.mu.Unlock()
	for _, do := range pending {
		do(c)
	}
	return c, nil
}

func (n *network) next() (net.Conn, error) {
	if n.real != nil {
		return n.real.Accept()
	}
	select {
	case c := <-n.queue:
		return c, nil
	case <-n.down:
		return nil, net.ErrClosed
	}
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// free lets go whoever waits for nothing but the end of the world.
func (n *network) free() { n.freed.Do(func() { close(n.down) }) }

// Close cuts all that there is.
func (n *network) Close() error {
	n.free()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	if n.real != nil {
		n.real.Close()
	}
	for _, c := range n.ends {
		c.Close()
	}
	for len(n.queue) > 0 {
		(<-n.queue).Close()
	}
	return nil
}
