package resilient_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The frames of HTTP/2 that a refusal takes (RFC 9113, section 6).
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7

	flagEndStream, flagAck, flagEndHeaders = 1, 1, 4
)

// frames speaks HTTP/2 without a library: it answers every request, when it is
// complete, with what answer returns for the n-th, and hangs up after a GOAWAY.
func frames(conn net.Conn, answer func(stream uint32) []byte) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 24)); err != nil { // the preface
		return
	}
	_, _ = conn.Write(frame(frameSettings, 0, 0, nil))
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, length); err != nil {
			return
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			_, _ = conn.Write(frame(frameSettings, flagAck, 0, nil))
		case kind <= frameHeaders && flags&flagEndStream != 0: // DATA or HEADERS
			reply := answer(stream)
			_, _ = conn.Write(reply)
			if reply[3] == frameGoAway {
				_, _ = io.Copy(io.Discard, conn)
				return
			}
		}
	}
}

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	f := []byte{0, 0, byte(len(payload)), kind, flags}
	f = binary.BigEndian.AppendUint32(f, stream)
	return append(f, payload...)
}

// What the server says that it did not look at is unprocessed, so that
// Conservative repeats a POST.
func TestPostThatHTTP2RefusesIsRepeated(t *testing.T) {
	t.Parallel()
	refusedStream := []byte{0, 0, 0, 7}
	for name, refuse := range map[string]func(stream uint32) []byte{
		"REFUSED_STREAM":          func(stream uint32) []byte { return frame(frameReset, 0, stream, refusedStream) },
		"GOAWAY below the stream": func(uint32) []byte { return frame(frameGoAway, 0, 0, make([]byte, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := loopback(t, nil)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			is.NoErr(err)
			var mu sync.Mutex
			requests := 0
			answer := func(stream uint32) []byte {
				mu.Lock()
				defer mu.Unlock()
				if requests++; requests == 1 {
					return refuse(stream)
				}
				return frame(frameHeaders, flagEndStream|flagEndHeaders, stream, []byte{0x88}) // :status 200
			}
			var serving sync.WaitGroup
			done := make(chan struct{})
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() { frames(conn, answer) })
					serving.Go(func() {
						<-done
						conn.Close()
					})
				}
			})
			base := &http.Transport{Protocols: &http.Protocols{}}
			base.Protocols.SetUnencryptedHTTP2(true)
			defer func() {
				l.Close()
				close(done)
				serving.Wait()
				base.CloseIdleConnections()
			}()
			c := w.over(base, resilient.New("orders").Defaults(resilient.Conservative).
				Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Breaker(resilient.Off).Budget(resilient.Off))
			resp, err := c.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("order"))
			first := eventsOf[resilient.AttemptDone](w)[0]
			is.Equal(first.Conclusion, resilient.Unprocessed) // the server has said so
			is.NoErr(err)
			is.Equal(resp.StatusCode, 200)
			read(t, resp)
			is.Equal(requests, 2)
			is.Equal(len(eventsOf[resilient.AttemptDone](w)), 2) // both are known to us
		})
	}
}
