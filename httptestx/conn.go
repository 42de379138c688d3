package httptestx

import (
	"io"
	"net"
)

// wire is what the server needs of a connection: *net.TCPConn and *memConn.
type wire interface {
	net.Conn
	CloseWrite() error
	SetLinger(sec int) error
}

// conn is an accepted connection.
type conn struct {
	wire
	srv      *Server
	id       int // 1 for the first
	requests int // so far; guarded by the journal's lock
}

// connKey is the context key of a request's *conn.
type connKey struct{}

// listener numbers the connections and remembers them for Close.
type listener struct {
	net.Listener
	srv *Server
}

func (l listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.srv.adopt(nc.(wire))
}

// abort ends the connection with a RST.
func (c *conn) abort() {
	c.SetLinger(0) // unsent data and the orderly close are given up
	c.wire.Close()
}

// finish ends the connection with a FIN. A close with unread input would send a
// RST, so the input is discarded until the client has closed as well. It needs
// no time limit: closing the server closes the connection.
func (c *conn) finish() {
	c.CloseWrite()
	io.Copy(io.Discard, c.wire)
}

// gone returns a channel that is closed when the client has closed or reset the
// connection, or nil where only reading can tell.
func (c *conn) gone() <-chan struct{} {
	if m, ok := c.wire.(*memConn); ok {
		return m.gone
	}
	return nil
}
