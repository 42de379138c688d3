package httptestx

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// wire is what the server needs of a connection: *net.TCPConn and *memConn.
type wire interface {
	net.Conn
	CloseWrite() error
	SetLinger(sec int) error
}

// conn is an accepted connection. It does TLS, and looks into HTTP/2, below
// net/http, which takes it for a connection in cleartext.
type conn struct {
	wire
	srv     *Server
	id      int             // 1 for the first
	plan    []Step          // before the first request
	life    context.Context // ends when a plan ends the connection, or Close is called
	endLife context.CancelFunc
	tls     *tls.Conn // over wire; nil in cleartext
	out     *outbound // nil if HTTP/2 is not served

	begun    sync.Once // by the first Read
	beginErr error

	// What follows is of the goroutine that reads.
	matched int    // bytes of the preface of HTTP/2 so far; -1 if it is another protocol
	in      tagger // of HTTP/2
	buf     []byte // for what is read of HTTP/2
	ready   []byte // read and tagged, but not asked for yet

	seen    atomic.Uint32 // the highest stream that was read
	isHTTP2 atomic.Bool   // the preface has been read
	closing atomic.Bool   // what is read does not matter any more

	fate // guarded by the journal's lock
}

// fate is what the plans have made of a connection so far.
type fate struct {
	requests int      // that have arrived
	ended    EndState // Running while the connection is good
	handled  uint32   // the highest HTTP/2 stream whose handler was started
	refusing bool     // a GOAWAY was sent
	last     uint32   // the last stream of the GOAWAY; those above are refused
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

// stream is the connection as the protocols above TLS see it.
func (c *conn) stream() net.Conn {
	if c.tls != nil {
		return c.tls
	}
	return c.wire
}

// begin does what comes before the first byte, in the goroutine that serves the
// connection, so that it keeps no other connection waiting.
func (c *conn) begin() error {
	c.begun.Do(func() {
		if c.beginErr = c.misbehave(); c.beginErr == nil && c.tls != nil {
			c.beginErr = c.handshake()
		}
	})
	return c.beginErr
}

// handshake answers a client without TLS as net/http does.
func (c *conn) handshake() error {
	err := c.tls.Handshake()
	if notTLS := (tls.RecordHeaderError{}); errors.As(err, &notTLS) && notTLS.Conn != nil {
		io.WriteString(c.wire, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		c.wire.Close()
	}
	return err
}

// Read implements [net.Conn] for net/http.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.begin(); err != nil {
		return 0, err
	}
	if !c.isHTTP2.Load() {
		n, err := c.stream().Read(p)
		c.sniff(p[:n])
		return n, err
	}
	for len(c.ready) == 0 {
		n, err := c.stream().Read(c.buf)
		if n == 0 && err != nil {
			return 0, err
		}
		if c.closing.Load() {
			continue // until the client closes as well
		}
		c.ready = c.in.feed(c.ready[:0], c.buf[:n])
		c.seen.Store(c.in.last)
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// sniff looks for the preface of HTTP/2. net/http does as well, and reads nothing
// behind it before it has decided.
func (c *conn) sniff(p []byte) {
	if c.out == nil || c.matched < 0 {
		return
	}
	for _, b := range p {
		if c.matched == len(preface) || b != preface[c.matched] {
			c.matched = -1
			return
		}
		c.matched++
	}
	if c.matched == len(preface) {
		c.buf = make([]byte, 16<<10)
		c.isHTTP2.Store(true)
	}
}

// Write implements [net.Conn] for net/http.
func (c *conn) Write(p []byte) (int, error) {
	if c.isHTTP2.Load() {
		return c.out.Write(p)
	}
	return c.stream().Write(p)
}

// CloseWrite sends a FIN, after TLS has said goodbye.
func (c *conn) CloseWrite() error {
	if c.tls != nil {
		c.tls.CloseWrite()
	}
	return c.wire.CloseWrite()
}

// Close closes the connection and forgets it.
func (c *conn) Close() error {
	c.srv.mu.Lock()
	delete(c.srv.conns, c)
	c.srv.mu.Unlock()
	c.endLife()
	return c.stream().Close()
}

// abort ends the connection with a RST, below TLS. Other requests on it end as
// well.
func (c *conn) abort() {
	c.end(EndReset)
	c.SetLinger(0) // unsent data and the orderly close are given up
	c.wire.Close()
}

// finish ends the connection with a FIN, after a GOAWAY on HTTP/2. A close with
// unread input would send a RST, so the input is discarded until the client has
// closed as well; on HTTP/2 that is done where net/http reads. It needs no time limit: closing
// the server closes the connection.
func (c *conn) finish() {
	if c.isHTTP2.Load() {
		c.out.awaitSettings(c.life)
	}
	c.closing.Store(true)
	c.end(EndClosed)
	if c.isHTTP2.Load() {
		c.out.close(c.seen.Load())
	}
	c.CloseWrite()
	c.endLife()
	if !c.isHTTP2.Load() {
		io.Copy(io.Discard, c.wire)
	}
}

// gone returns a channel that is closed when the client has closed or reset the
// connection, or nil where only reading can tell.
func (c *conn) gone() <-chan struct{} {
	if m, ok := c.wire.(*memConn); ok {
		return m.gone
	}
	return nil
}
