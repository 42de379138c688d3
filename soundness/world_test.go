package soundness_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

type protocol string

const (
	http1    protocol = "HTTP 1"
	http1TLS protocol = "HTTP 1 over TLS"
	http2TLS protocol = "HTTP 2 over TLS"
	h2c      protocol = "HTTP 2 in cleartext"
)

// A world is a client and a server with a network in between, and the calls that
// are made in it.
type world struct {
	protocol
	seed    seed
	tally   *tally
	retries bool
	base    base
	real    bool // by the kernel, in real time
	hostile int  // percent of the sends that the network spoils
	think   time.Duration
	url     string
	net     *network
	server  *http.Server
	client  *http.Client
	calls   []atomic.Pointer[call]
	served  chan struct{}
}

func newWorld(p protocol, s seed, t *tally) *world {
	return &world{protocol: p, seed: s, tally: t, retries: s%2 == 0, base: bases[s/2%seed(len(bases))]}
}

// together is how many calls run at once.
const together = 16

// play makes n calls in a world of their own, and judges them.
func (w *world) play(t *testing.T, n int) {
	w.begin(t)
	w.calls = make([]atomic.Pointer[call], n)
	var callers sync.WaitGroup
	var next atomic.Int64
	for i := range together {
		callers.Go(func() {
			d := w.seed.dice(aboutWorld, 1, i)
			for id := next.Add(1) - 1; id < int64(n); id = next.Add(1) - 1 {
				if d.percent(40) { // idle connections are closed after just that time
					w.pause(one(d, w.think, d.wait(w.think)))
				}
				w.do(int(id))
			}
		})
	}
	callers.Wait()
	w.end()
	for i := range w.calls {
		w.judge(t, w.calls[i].Load())
	}
}

func (w *world) begin(t *testing.T) {
	d := w.seed.dice(aboutWorld, 0, 0)
	w.net = &network{
		seed: w.seed, tally: w.tally, tls: encrypted(w.protocol), pause: w.pause, hold: w.hold, room: bounded,
		queue: make(chan net.Conn, 1000), down: make(chan struct{}),
		ends: map[string]*cable{}, pending: map[string][]func(*cable){},
	}
	if w.real {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w.net.real = l
	}
	w.think = one[time.Duration](d, 20, 100, 500) * time.Millisecond
	w.hostile = one(d, 4, 12, 25)
	w.url = "http://soundness.test/"
	if encrypted(w.protocol) {
		w.url = "https://soundness.test/"
	}
	if overHTTP2(w.protocol) {
		w.net.room = endless
		w.hostile /= 3 // there are many streams on a connection
	}
	w.serve(d)
	w.connect(t, d)
}

func (w *world) serve(d dice) {
	w.server = &http.Server{
		Handler:     w,
		ErrorLog:    log.New(io.Discard, "", 0),
		IdleTimeout: w.think,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, linkKey{}, linkOf(c))
		},
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: one(d, 1, 4, 100, 250)},
	}
	if !w.real {
		w.server.ReadTimeout = one[time.Duration](d, 0, 0, 500) * time.Millisecond
	}
	w.server.Protocols = new(http.Protocols)
	w.server.Protocols.SetHTTP1(!overHTTP2(w.protocol))
	w.server.Protocols.SetUnencryptedHTTP2(overHTTP2(w.protocol)) // TLS ends in the listener
	w.served = make(chan struct{})
	go func() {
		defer close(w.served)
		w.server.Serve(&entrance{network: w.net, world: w})
	}()
}

// An entrance is the listener that the server has: it decrypts, and knows frames.
type entrance struct {
	*network
	world *world
	conns int
}

func (e *entrance) Accept() (net.Conn, error) {
	c, err := e.network.Accept()
	if err != nil {
		return nil, err
	}
	e.conns++
	n, conn := e.conns, c
	if encrypted(e.world.protocol) {
		conn = tls.Server(c, serverTLS)
	}
	if overHTTP2(e.world.protocol) {
		conn = newTap(conn, c.(*cable), func(stream uint32) fate {
			f := draw(e.seed.dice(aboutStream, n, int(stream)), fates)
			e.tally.add(f.name)
			return f.what
		})
	}
	return conn, nil
}

var fates = []lot[fate]{
	{95, "stream", passes}, {2, "GOAWAY below a stream", goneBelow},
	{1, "GOAWAY below a stream, with an error", goneBroken}, {2, "GOAWAY and then closed", goneAbove},
}

type linkKey struct{}

// A link is the server's connection, as far down as it can be spoiled.
type link struct {
	cable *cable
	tap   *tap
}

func linkOf(c net.Conn) link {
	switch c := c.(type) {
	case *tap:
		return link{c.cable, c}
	case *tls.Conn:
		return link{c.NetConn().(*cable), nil}
	default:
		return link{c.(*cable), nil}
	}
}

func (w *world) connect(t *testing.T, d dice) {
	base := &http.Transport{
		DialContext:           w.net.DialContext,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: true},
		TLSHandshakeTimeout:   w.scaled(time.Second),
		ExpectContinueTimeout: w.scaled(50 * time.Millisecond),
		MaxIdleConnsPerHost:   one(d, 1, 4, together),
		MaxConnsPerHost:       one(d, 0, 0, 0, 4),
		ResponseHeaderTimeout: one(d, 0, 0, 0, w.scaled(500*time.Millisecond)),
		Protocols:             new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: w.scaled(time.Second), PingTimeout: w.scaled(time.Second),
			StrictMaxConcurrentRequests: d.percent(30),
		},
	}
	base.Protocols.SetHTTP1(w.protocol == http1 || w.protocol == http1TLS)
	base.Protocols.SetHTTP2(w.protocol == http2TLS)
	base.Protocols.SetUnencryptedHTTP2(w.protocol == h2c)
	b := resilient.New("soundness").Defaults(resilient.Conservative).Transport(w.base.over(base)).
		Registry(resilient.NewRegistry()).Observe(w.observe).
		Breaker(resilient.Off).Budget(resilient.Off).Concurrency(resilient.Off)
	b = b.Timeout(resilient.Total(one(d, 0, 0, w.scaled(4*time.Second))),
		resilient.PerAttempt(w.scaled(one[time.Duration](d, 300, 1000, 3000)*time.Millisecond)))
	if w.retries {
		b = b.Retry(resilient.MaxRetries(3), resilient.Backoff(w.scaled(20*time.Millisecond), 0))
	} else {
		b = b.Retry(resilient.Off)
	}
	client, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	w.client = client
}

// end waits for all that the calls may still cause, and stops the world.
func (w *world) end() {
	if w.real {
		w.net.free()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		w.server.Shutdown(ctx)
		cancel()
	} else {
		time.Sleep(2 * time.Minute)
		synctest.Wait()
	}
	w.net.Close()
	w.server.Close()
	w.client.CloseIdleConnections()
	<-w.served
	if !w.real {
		time.Sleep(time.Minute) // for those who are in a pause
		synctest.Wait()
	}
}

// pause lets time pass. Real time is never waited for.
func (w *world) pause(d time.Duration) {
	if w.real {
		runtime.Gosched()
		return
	}
	time.Sleep(d)
}

// hold is pause that ends with the context, or with the world.
func (w *world) hold(ctx context.Context, d time.Duration) {
	if w.real && d < 5*time.Second {
		runtime.Gosched()
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-w.net.down:
	}
}

// scaled is a limit on time: in real time a short one.
func (w *world) scaled(d time.Duration) time.Duration {
	if w.real {
		return max(d/20, 10*time.Millisecond)
	}
	return d
}

var serverTLS = func() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	c := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	wants := c.Clone()
	wants.ClientAuth = tls.RequireAnyClientCert
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c := hello.Conn.(*cable); c.wants {
			return wants, nil
		}
		return nil, nil
	}
	return c
}()
