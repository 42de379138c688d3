package httptestx

import (
	"context"
	"net"
	"slices"
	"sync"
)

// The addresses of the in-memory network are from a block reserved for
// documentation (RFC 5737), so that they belong to nobody.
//
//nolint:gochecknoglobals // set once, and only read
var (
	memServerIP = net.IPv4(192, 0, 2, 1)
	memClientIP = net.IPv4(192, 0, 2, 2)
)

// memListener is the server's side of the in-memory network.
type memListener struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   []*memConn // dialed, not yet accepted
	held    []*memConn // that were dialed, and that the client may not have closed
	dials   int
	port    int
	closed  bool
}

func newMemListener() *memListener {
	l := &memListener{port: 80}
	l.changed.L = &l.mu
	return l
}

// dial connects at once, as a kernel does while its backlog has room. The server
// has a plan for the connection, or none.
func (l *memListener) dial(ctx context.Context, plan []Step) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, l.dialError(err)
	}
	if l.closed {
		return nil, l.refusal()
	}
	l.dials++
	client, server := memPipe(&net.TCPAddr{IP: memClientIP, Port: 10000 + l.dials%50000}, l.Addr())
	server.plan = plan
	l.queue = append(l.queue, server)
	l.hold(server)
	l.changed.Signal()
	return client, nil
}

// hold remembers a connection. Those that the client has closed are forgotten each time before their number
// would double.
func (l *memListener) hold(c *memConn) {
	if len(l.held) == cap(l.held) {
		l.held = slices.DeleteFunc(l.held, (*memConn).clientHasClosed)
	}
	l.held = append(l.held, c)
}

// stillHeld returns the connections that the client has not closed.
func (l *memListener) stillHeld() []*memConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.held), (*memConn).clientHasClosed)
}

// clientHasClosed is asked of the server's end.
func (c *memConn) clientHasClosed() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// Accept implements [net.Listener].
func (l *memListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c, nil
}

// Close implements [net.Listener]. Connections that nobody has accepted are reset.
func (l *memListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, c := range l.queue {
		c.SetLinger(0)
		c.Close()
	}
	l.queue = nil
	l.changed.Broadcast()
	return nil
}

// Addr implements [net.Listener].
func (l *memListener) Addr() net.Addr { return &net.TCPAddr{IP: memServerIP, Port: l.port} }
