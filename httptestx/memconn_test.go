package httptestx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

func TestMemConnFailsAsLinuxTCPDoes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ours  func(c *memConn) // what the server does; "sent" is on its way to the client
		read  string           // what the client reads
		then  error            // and how that ends
		write error            // what the client's second write says; the first may go into the void
	}{
		{"reset", func(c *memConn) { c.SetLinger(0); c.Close() }, "sent", syscall.ECONNRESET, syscall.EPIPE},
		{"close", func(c *memConn) { c.Close() }, "sent", io.EOF, syscall.EPIPE},
		{"close with unread input", func(c *memConn) { c.peer.Write([]byte("x")); c.Close() }, "sent", syscall.ECONNRESET, syscall.EPIPE},
		{"half close", func(c *memConn) { c.CloseWrite() }, "sent", io.EOF, nil},
		{"half close, then reset", func(c *memConn) { c.CloseWrite(); c.abortNow() }, "sent", io.EOF, syscall.EPIPE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			client, server := testPipe()
			io.WriteString(server, "sent")
			tt.ours(server)
			got, err := io.ReadAll(client)
			if err == nil {
				err = io.EOF
			}
			is.Equal(string(got), tt.read)   // what had arrived stays readable
			is.True(errors.Is(err, tt.then)) // then the fault shows
			client.Write([]byte("y"))
			_, err = client.Write([]byte("z"))
			is.True(errors.Is(err, tt.write)) // writes fail once the peer has said so
		})
	}
}

func TestMemConnErrorsAreShapedAsTheKernels(t *testing.T) {
	is := is.New(t)
	client, server := testPipe()
	server.abortNow()
	_, err := client.Read(make([]byte, 1))
	is.Equal(fmt.Sprintf("%T", err), "*net.OpError")                                            // as from a socket
	is.Equal(fmt.Sprintf("%T", errors.Unwrap(err)), "*os.SyscallError")                         // inside it
	is.Equal(err.Error(), "read tcp 192.0.2.2:1->192.0.2.1:80: read: connection reset by peer") // and its words

	_, err = client.Write([]byte("x"))
	is.Equal(err.Error(), "write tcp 192.0.2.2:1->192.0.2.1:80: write: broken pipe") // a write says EPIPE

	client.Close()
	_, err = client.Read(make([]byte, 1))
	is.True(errors.Is(err, net.ErrClosed))            // our own close
	is.True(errors.Is(client.Close(), net.ErrClosed)) // twice is an error, as for a socket

	l := newMemListener()
	l.Close()
	_, err = l.dial(context.Background(), nil)
	is.True(errors.Is(err, syscall.ECONNREFUSED))                               // nobody listens
	is.Equal(err.Error(), "dial tcp 192.0.2.1:80: connect: connection refused") // in the kernel's words
}

func TestMemConnBlocksWritersWhenItsBufferIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, server := testPipe()
		data := bytes.Repeat([]byte("abcdefg"), memBuffer/3)
		wrote := 0
		go func() {
			defer client.Close()
			wrote, _ = client.Write(data)
		}()
		synctest.Wait()
		is.Equal(wrote, 0) // the write has not returned: more than a buffer is to be sent
		got, err := io.ReadAll(server)
		is.NoErr(err)                   // the reader frees the buffer
		is.True(bytes.Equal(got, data)) // and gets every byte, in order
		is.Equal(wrote, len(data))      // the writer was told so
	})
}

func TestMemConnResetWakesABlockedWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, server := testPipe()
		var err error
		go func() { _, err = client.Write(make([]byte, 2*memBuffer)) }()
		synctest.Wait()
		server.abortNow()
		synctest.Wait()
		is.True(errors.Is(err, syscall.EPIPE)) // not stuck
	})
}

func TestMemConnDeadlinesPassInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, server := testPipe()
		start := time.Now()
		client.SetReadDeadline(start.Add(time.Hour))
		_, err := client.Read(make([]byte, 1))
		is.True(errors.Is(err, os.ErrDeadlineExceeded)) // the read ends
		is.Equal(time.Since(start), time.Hour)          // at its deadline
		netErr := net.Error(nil)
		is.True(errors.As(err, &netErr) && netErr.Timeout()) // and says that it timed out

		io.WriteString(server, "x")
		_, err = client.Read(make([]byte, 1))
		is.True(errors.Is(err, os.ErrDeadlineExceeded)) // also when there is data
		client.SetReadDeadline(time.Time{})
		n, err := client.Read(make([]byte, 1))
		is.NoErr(err)  // no deadline, no timeout
		is.Equal(n, 1) // and nothing was lost

		client.SetWriteDeadline(time.Now().Add(time.Minute))
		_, err = client.Write(make([]byte, 2*memBuffer))
		is.True(errors.Is(err, os.ErrDeadlineExceeded)) // a blocked write ends as well
	})
}

func TestMemConnDeadlineThatWasMovedDoesNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		client, server := testPipe()
		client.SetDeadline(time.Now().Add(time.Second))
		client.SetDeadline(time.Now().Add(time.Minute))
		time.AfterFunc(2*time.Second, func() { io.WriteString(server, "late") })
		n, err := client.Read(make([]byte, 10))
		is.NoErr(err)  // the first deadline is void
		is.Equal(n, 4) // the data arrived before the second
	})
}

func TestMemListenerForgetsWhatItsClientsHaveClosed(t *testing.T) {
	is := is.New(t)
	l := newMemListener()
	open, err := l.dial(t.Context(), nil)
	is.NoErr(err)
	for range 1000 {
		c, err := l.dial(t.Context(), nil)
		is.NoErr(err)
		c.Close()
	}
	is.True(len(l.held) < 10)                         // not all of them
	is.Equal(len(l.stillHeld()), 1)                   // but the open one
	is.True(l.stillHeld()[0].peer == open.(*memConn)) // itself
}

func TestMemListenerResetsWhatItDidNotAccept(t *testing.T) {
	is := is.New(t)
	l := newMemListener()
	c, err := l.dial(context.Background(), nil)
	is.NoErr(err) // connected: the backlog takes it
	l.Close()
	_, err = c.Read(make([]byte, 1))
	is.True(errors.Is(err, syscall.ECONNRESET)) // nobody will ever read it
}

// abortNow resets the connection.
func (c *memConn) abortNow() {
	c.SetLinger(0)
	c.Close()
}

func testPipe() (client, server *memConn) {
	return memPipe(&net.TCPAddr{IP: memClientIP, Port: 1}, &net.TCPAddr{IP: memServerIP, Port: 80})
}
