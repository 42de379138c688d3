package soundness_test

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A wire is a connection of TCP, or in memory.
type wire interface {
	net.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// A cable is the server's end of a connection, which can be cut at any byte.
type cable struct {
	wire
	pause func(time.Duration)
	dice  dice // for the one who reads
	wants bool // a client certificate

	mu     sync.Mutex
	cuts   [2]*cut
	told   *notice
	hole   bool // swallows everything, and answers nothing
	slow   int  // how many reads are still small and slow
	broken bool
}

type direction int

const (
	inward direction = iota // from the client to the server
	outward
)

// A cut ends a connection when that many bytes more have passed.
type cut struct {
	way   direction
	after int
	how   manner
}

// A notice is called when that many bytes more have come in.
type notice struct {
	after int
	call  func()
}

type manner int

const (
	byReset    manner = iota
	byClose           // a FIN, or a RST if something was left unread
	byHalf            // a FIN, while the server reads on
	bySilence         // nothing passes any more, in neither direction
	byBitError        // the next byte is another one
)

// cut arms a cut, unless there is one already. One that is due is done at once.
func (c *cable) cut(k cut) {
	c.mu.Lock()
	if c.cuts[k.way] == nil {
		c.cuts[k.way] = &k
	}
	due := c.cuts[k.way].after == 0 && c.cuts[k.way].how != byBitError
	c.mu.Unlock()
	if due {
		c.sever(k.how)
	}
}

func (c *cable) notify(n notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = &n
}

func (c *cable) sever(how manner) {
	c.mu.Lock()
	first := !c.broken
	c.broken = true
	c.hole = c.hole || first && how == bySilence
	c.mu.Unlock()
	if !first {
		return
	}
	switch how {
	case byReset:
		c.SetLinger(0)
		c.Close()
	case byClose:
		c.Close()
	case byHalf:
		c.CloseWrite()
	case bySilence, byBitError:
	}
}

func (c *cable) Read(p []byte) (int, error) {
	c.mu.Lock()
	n := len(p)
	if k := c.cuts[inward]; k != nil && k.after > 0 {
		n = min(n, k.after)
	}
	slow := c.slow > 0
	if slow {
		c.slow--
		n = min(n, 1+c.dice.size(16<<10))
	}
	c.mu.Unlock()
	if slow {
		c.pause(c.dice.wait(20 * time.Millisecond))
	}
	n, err := c.wire.Read(p[:n])
	return c.came(p[:n], err)
}

// came counts what has come in, and does what was to be done at that byte.
func (c *cable) came(p []byte, err error) (int, error) {
	c.mu.Lock()
	hole, k := c.hole, c.cuts[inward]
	due := k != nil && k.how != byBitError && k.after > 0 && k.after <= len(p)
	if k != nil && len(p) > 0 {
		if k.how == byBitError && k.after >= 0 && k.after < len(p) {
			p[k.after] ^= 0x40
		}
		k.after -= len(p)
	}
	told := c.told
	if told != nil {
		if told.after -= len(p); told.after > 0 {
			told = nil
		} else {
			c.told = nil
		}
	}
	c.mu.Unlock()
	if told != nil {
		told.call()
	}
	if hole && err == nil {
		return c.swallow()
	}
	if due {
		c.sever(k.how)
	}
	return len(p), err
}

func (c *cable) swallow() (int, error) {
	if _, err := io.Copy(io.Discard, c.wire); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

func (c *cable) Write(p []byte) (int, error) {
	c.mu.Lock()
	hole, k := c.hole, c.cuts[outward]
	n, due := len(p), false
	if k != nil && k.how != byBitError {
		due = k.after > 0 && k.after <= n
		n = min(n, max(k.after, 0))
		k.after -= n
	}
	c.mu.Unlock()
	if hole {
		return len(p), nil
	}
	n, err := c.wire.Write(p[:n])
	if due {
		c.sever(k.how)
	}
	if n < len(p) && err == nil {
		if k.how == bySilence {
			return len(p), nil
		}
		err = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return n, err
}
