package differential

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A wrapper makes the transport under test of the one below. It returns the base
// itself for the bare client.
type wrapper func(base *http.Transport, s session) http.RoundTripper

// A record is what was observed of a session: the lines of each exchange, and at
// last those of the session as a whole.
type record [][]string

// A world is a client and its server, in memory and in virtual time.
type world struct {
	session  session
	network  *network
	server   *http.Server
	base     *http.Transport
	client   http.Client
	handlers sync.WaitGroup

	mu   sync.Mutex
	now  int          // the exchange that goes on
	seen [][]*journal // by exchange, one for each request that arrived

	last, known int // connections: of the last request, and the newest
}

// play plays the session. A bubble that can't end is an observation, too:
// something was left behind.
func play(t *testing.T, s session, wrap wrapper) (r record) {
	certificate()
	defer func() {
		if v := recover(); v != nil {
			r = append(r, []string{fmt.Sprintf("the bubble: %v", v)})
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(s, wrap)
		var callers []*journal
		var supplies []*supply
		for i, x := range s.Exchanges {
			j, bodies := w.call(i, x)
			callers, supplies = append(callers, j), append(supplies, bodies)
		}
		w.end()
		for i, j := range callers {
			supplies[i].report(j)
			lines := j.lines
			for _, seen := range w.seen[i] {
				lines = append(lines, seen.lines...)
			}
			r = append(r, lines)
		}
		r = append(r, w.rest())
	})
	return r
}

func newWorld(s session, wrap wrapper) *world {
	w := &world{session: s, network: newNetwork(), seen: make([][]*journal, len(s.Exchanges))}
	w.base = &http.Transport{
		DialContext:           w.network.dial,
		DisableCompression:    s.Settings.NoCompression,
		ExpectContinueTimeout: time.Second,
		Protocols:             new(http.Protocols),
		TLSClientConfig:       &tls.Config{RootCAs: certificate().roots},
	}
	w.server = &http.Server{
		Handler: w, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate().server}},
		ConnContext: w.numbered(),
	}
	if s.Settings.OneStream {
		w.server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	}
	if s.Settings.HeaderTimeout {
		w.base.ResponseHeaderTimeout = time.Minute
	}
	for _, p := range []*http.Protocols{w.base.Protocols, w.server.Protocols} {
		p.SetHTTP1(!s.Protocol.two())
		p.SetHTTP2(s.Protocol == http2TLS)
		p.SetUnencryptedHTTP2(s.Protocol == http2Clear)
	}
	w.client.Transport = wrap(w.base, s)
	if s.Settings.Jar {
		w.client.Jar, _ = cookiejar.New(nil)
	}
	go func() {
		if s.Protocol.scheme() == "https" {
			_ = w.server.ServeTLS(w.network, "", "")
		} else {
			_ = w.server.Serve(w.network)
		}
	}()
	return w
}

// numbered gives each connection its number.
func (w *world) numbered() func(context.Context, net.Conn) context.Context {
	n := 0
	return func(ctx context.Context, _ net.Conn) context.Context {
		n++
		return context.WithValue(ctx, connKey{}, n)
	}
}

// begin makes i the exchange that goes on. It begins with a minute, so that the
// times in it are what they are whatever the exchanges before it took.
func (w *world) begin(i int) {
	if !w.session.Settings.Hasty {
		const minute = time.Minute
		time.Sleep(time.Until(time.Now().Truncate(minute).Add(minute)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = i
}

// end waits until nothing goes on any more.
func (w *world) end() {
	w.client.CloseIdleConnections()
	w.server.Close()
	_ = w.network.Close()
	synctest.Wait() // what has arrived is in a handler by now
	w.handlers.Wait()
	time.Sleep(patience) // for who is inside a Read of the caller's body
}

// rest is what there is to see of the session as a whole.
func (w *world) rest() []string {
	j := &journal{prefix: "session: "}
	if w.client.Jar == nil {
		return j.lines
	}
	for _, host := range []string{home, "other.test"} {
		for _, path := range []string{"/", "/next"} {
			u := &url.URL{Scheme: w.session.Protocol.scheme(), Host: host, Path: path}
			j.notef("cookies for %s: %v", u, w.client.Jar.Cookies(u))
		}
	}
	return j.lines
}

// home is where the caller's requests go.
const home = "server.test"

type identity struct {
	server tls.Certificate
	roots  *x509.CertPool
}

// certificate is for all hosts, and valid when the time of a bubble begins.
var certificate = sync.OnceValue(func() identity {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{home, "other.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots}
})
