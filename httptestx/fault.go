package httptestx

import (
	"bytes"
	"io"
	"strings"
	"time"
)

// misbehave does what OnConn has for the connection, in the goroutine that is about to
// read from it. The error is that of the first Read.
func (c *conn) misbehave() error {
	for _, st := range c.plan {
		if st.op == opDelay {
			if !c.pause(time.Duration(st.n)) {
				return io.EOF
			}
			continue
		}
		c.fail(st)
		return io.EOF // net/http says nothing after that
	}
	return nil
}

// pause returns false if the connection is closed meanwhile.
func (c *conn) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.life.Done():
		return false
	}
}

func (c *conn) fail(st Step) {
	switch st.op {
	case opAccept:
		io.Copy(io.Discard, c.wire)
	case opRefuse: // on loopback
		c.abort()
	case opNoSuchHost:
		c.cannot(st, "on loopback the system looks names up")
	case opReset:
		c.readSome()
		c.abort()
	case opClose:
		c.readSome()
		c.finish()
	case opHandshakeFail:
		if c.tls == nil {
			c.cannot(st, "the connection is in cleartext")
			return
		}
		c.readSome()
		_, _ = c.wire.Write(fatalAlert(uint8(st.n)))
		c.finish()
	}
}

// readSome waits for the first bytes of the handshake or of a request. A client of HTTP/2
// sends its settings before, and is not ready yet.
func (c *conn) readSome() {
	var b []byte
	for buf := make([]byte, 4<<10); ; {
		n, err := c.wire.Read(buf)
		b = append(b, buf[:n]...)
		if err != nil || !onlySettings(b) {
			return
		}
	}
}

// onlySettings reports whether b is the beginning of HTTP/2, without a request.
func onlySettings(b []byte) bool {
	if len(b) < len(preface) {
		return strings.HasPrefix(preface, string(b))
	}
	frames, ok := bytes.CutPrefix(b, []byte(preface))
	for ok && len(frames) >= frameHeadLen {
		if parseHead(frames).kind == frameHeaders {
			return false
		}
		_, _, frames, ok = cutFrame(frames)
	}
	return bytes.HasPrefix(b, []byte(preface))
}

// fatalAlert is a TLS record with an alert (RFC 8446, sections 5.1 and 6).
func fatalAlert(description uint8) []byte {
	const contentAlert, fatal = 21, 2
	return []byte{contentAlert, 3, 3, 0, 2, fatal, description}
}

// cannot fails the test for a step that the connection has no form of.
func (c *conn) cannot(st Step, why string) {
	c.srv.t.Errorf("httptestx: connection %d: %v cannot be done: %s", c.id, st, why)
	c.abort()
}
