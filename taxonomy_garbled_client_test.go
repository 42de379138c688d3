package resilient_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A garbledConn spoils what it hears from a second on.
type garbledConn struct {
	net.Conn
	from  time.Time
	spoil func([]byte)
}

func (c *garbledConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !time.Now().Before(c.from) {
		c.spoil(p[:n])
	}
	return n, err
}

// garbling makes every connection of a transport one that is spoiled.
func garbling(spoil func([]byte)) func(*http.Transport) {
	return func(b *http.Transport) {
		dial := b.DialContext
		b.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &garbledConn{Conn: conn, from: time.Now().Add(time.Second), spoil: spoil}, nil
		}
	}
}

// noRecord overwrites the head of a record of TLS, and noMAC changes what is behind it, which then is not genuine.
func noRecord(b []byte) { copy(b, "HTTP/1.1 400 Bad Request\r\n\r\n") }

func noMAC(b []byte) {
	const head = 5
	if len(b) > head {
		b[head] ^= 1
	}
}

// withGarbledTLS are those in which the answer to a request can't be deciphered, or its rest: the handshake was good,
// and the server has handled the request before.
func withGarbledTLS() []mishap {
	late := step(httptestx.Handle, httptestx.Delay(2*time.Second))
	body := step(httptestx.Handle, httptestx.Send(2), httptestx.Delay(2*time.Second))
	badMAC := says("local error: tls: bad record MAC")
	answered := concluding(resilient.Processed, []mishap{
		{name: "TLS garbage in body", on: encrypted, plan: body, base: garbling(noRecord), status: 200, cut: isA[tls.RecordHeaderError]},
		{name: "TLS record with a bad MAC in body", on: encrypted, plan: body, base: garbling(noMAC), status: 200, cut: badMAC},
	})
	return append(answered, concluding(resilient.Unknown, []mishap{
		{name: "TLS garbage after the handshake", on: encrypted, plan: late, base: garbling(noRecord), err: isA[tls.RecordHeaderError]},
		{name: "TLS garbage after the handshake, reused connection", on: encrypted, warm: true, plan: late, base: garbling(noRecord), err: isA[tls.RecordHeaderError]},
		{name: "TLS record with a bad MAC", on: encrypted, plan: late, base: garbling(noMAC), err: badMAC},
	})...)
}

// withoutTLS are those of a request in cleartext to a port of TLS. Nobody could read it, but the client can't
// know that: it speaks to a server that it does not understand.
func withoutTLS() []mishap {
	alert := step(httptestx.HandshakeFail(10)) // unexpected_message
	return []mishap{
		{name: "plain HTTP to a TLS port", on: []protocol{h1TLS}, scheme: "http", status: 400, conclusion: resilient.Processed},
		{name: "plain HTTP to a TLS port, alert", on: []protocol{h1TLS}, scheme: "http", conn: alert, err: says("malformed HTTP response"), conclusion: resilient.Unknown},
		{
			// The answer races with the request, which the client then may not have begun.
			name: "plain HTTP/2 to a TLS port", on: []protocol{h2TLS}, scheme: "http", base: inClear,
			err: func(err error) bool {
				return says("frame too large")(err) || says("client conn could not be established")(err) || lost(err)
			},
			conclusion: resilient.Unprocessed, perhaps: true,
		},
		{name: "plain HTTP/2 to a TLS port, alert", on: []protocol{h2TLS}, scheme: "http", base: inClear, conn: alert, err: lost, conclusion: resilient.Unknown},
	}
}

// inClear makes a transport speak HTTP/2 where there is no TLS.
func inClear(b *http.Transport) {
	b.Protocols = new(http.Protocols)
	b.Protocols.SetUnencryptedHTTP2(true)
}

// What is no record of TLS in a handshake will never be one. On a connection whose handshake was good it is an
// accident of that connection, as a record with a bad MAC is.
func TestGarbledAnswerIsTriedAgainWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]byte){"no record": noRecord, "bad MAC": noMAC} {
		for _, p := range encrypted {
			t.Run(name+", "+p.name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(http.StatusOK, "order"), func(w *world) {
					is := is.New(w.T)
					w.On("GET /").First(1).Do(httptestx.Handle, httptestx.Delay(2*time.Second))
					base := w.Client().Transport.(*http.Transport)
					garbling(spoil)(base)
					resp, err := w.over(base, retrying()).Get(w.URL)
					is.NoErr(err)                      // the first attempt is not the last
					is.Equal(read(w.T, resp), "order") // and another connection does better
					is.Equal(w.arrived(), 2)           // after one retry
				})
			})
		}
	}
}
