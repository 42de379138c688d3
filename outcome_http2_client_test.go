package resilient_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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

// speaking serves HTTP/2 in cleartext, and returns a transport for it.
func speaking(t *testing.T, answer func(stream uint32) []byte) (url string, base *http.Transport) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
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
	base = &http.Transport{Protocols: &http.Protocols{}}
	base.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		l.Close()
		close(done)
		serving.Wait()
		base.CloseIdleConnections()
	})
	return "http://" + l.Addr().String(), base
}

// net/http sends a request again without end when each connection ends with a
// GOAWAY, or each stream with a PROTOCOL_ERROR. It is let do so once an attempt.
func TestStormOfReplaysIsStopped(t *testing.T) {
	t.Parallel()
	protocolError := []byte{0, 0, 0, 1}
	for name, refuse := range map[string]func(stream uint32) []byte{
		"PROTOCOL_ERROR":          func(stream uint32) []byte { return frame(frameReset, 0, stream, protocolError) },
		"GOAWAY below the stream": func(uint32) []byte { return frame(frameGoAway, 0, 0, make([]byte, 8)) },
	} {
		for _, body := range []string{"", "query"} {
			t.Run(name+body, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				w := loopback(t, nil)
				var requests atomic.Int32
				url, base := speaking(t, func(stream uint32) []byte {
					requests.Add(1)
					return refuse(stream)
				})
				c := w.over(base, resilient.New("orders").Breaker(resilient.Off).
					Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0)).
					Budget(resilient.RetryRatio(0), resilient.LowVolumeRetries(100)))
				r, _ := http.NewRequest("GET", url, strings.NewReader(body))
				_, err := c.Do(r)
				is.True(err != nil)
				replays := len(eventsOf[resilient.TransportReplay](w))
				is.Equal(len(eventsOf[resilient.AttemptDone](w)), 3) // the retries are ours
				is.Equal(int(requests.Load()), 3+replays)            // and each of the others is told of
				is.Equal(replays, map[string]int{"": 3, "query": 0}[body])
				is.Equal(int(w.registry.Snapshot()[0].Budget.Retries), 2+replays) // and charged
			})
		}
	}
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
			var requests atomic.Int32
			url, base := speaking(t, func(stream uint32) []byte {
				if requests.Add(1) == 1 {
					return refuse(stream)
				}
				return frame(frameHeaders, flagEndStream|flagEndHeaders, stream, []byte{0x88}) // :status 200
			})
			c := w.over(base, resilient.New("orders").Defaults(resilient.Conservative).
				Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Breaker(resilient.Off).Budget(resilient.Off))
			resp, err := c.Post(url, "text/plain", strings.NewReader("order"))
			first := eventsOf[resilient.AttemptDone](w)[0]
			is.Equal(first.Conclusion, resilient.Unprocessed) // the server has said so
			is.NoErr(err)
			is.Equal(resp.StatusCode, 200)
			read(t, resp)
			is.Equal(requests.Load(), int32(2))
			is.Equal(len(eventsOf[resilient.AttemptDone](w)), 2) // both are known to us
		})
	}
}
