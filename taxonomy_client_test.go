package resilient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A mishap is something that a server or a network does to a POST, and what may be known of it then.
type mishap struct {
	name string
	on   []protocol // nil: all

	plan     []httptestx.Step // for the first POST
	conn     []httptestx.Step // for the first connection
	answer   http.Handler     // nil: one that echoes
	lies     bool             // refuses what it has begun to answer
	base     func(*http.Transport)
	serve    func(*httptestx.Server)
	body     func() io.Reader // nil: a few bytes
	wait     bool             // for a 100 Continue before the body is sent
	warm     bool             // the connection has been used before
	occupied bool             // the only connection has another request
	deadline time.Duration    // of the caller; 0: none
	scheme   string           // "": that of the server
	setUp    func(resilient.Builder) resilient.Builder

	err        func(error) bool // nil: there is a response
	status     int
	cut        func(error) bool // what reading its body comes to; nil: to its end
	conclusion resilient.Conclusion
	perhaps    bool // all depends on what is seen of it: the conclusion may be unknown as well
	permanent  bool // no retry mends it
}

// mishaps are those of which it is certain that the server has not processed the request, those of which that is not
// known, and those to which it has answered.
func mishaps() []mishap {
	return slices.Concat(beforeAConnection(), inAHandshake(), beforeTheWholeRequest(),
		withoutAnAnswer(), withStreamErrors(), withBrokenAnswers(), withGarbledTLS(), withoutTLS(), statuses(), inTheAnswersBody(),
		refusedWithinTheAnswer())
}

// step makes a plan of a few steps.
func step(steps ...httptestx.Step) []httptestx.Step { return steps }

// The classes of errors. That of a lost connection depends on the protocol and on who notices first: net/http's
// own name for what it reads, or the kernel's for what it writes.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.HasPrefix(err.Error(), "http2: server sent GOAWAY and closed the connection")
}

func anyError(error) bool { return true }

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func isErr(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// large is a body that no buffer on the way takes in full.
func large() io.Reader { return strings.NewReader(strings.Repeat("x", 2<<20)) }

func impatient(b resilient.Builder) resilient.Builder {
	return b.Timeout(resilient.PerAttempt(2 * time.Second))
}

var (
	inCleartext = []protocol{h1, h2}
	encrypted   = []protocol{h1TLS, h2TLS}
	onHTTP1     = []protocol{h1, h1TLS}
	onHTTP2     = []protocol{h2, h2TLS}
)

// What may be concluded from each fault, over each protocol, and that a careful client repeats a POST exactly when it
// is certain that the server has not processed it.
func TestWhatAFaultTellsOfThePost(t *testing.T) {
	t.Parallel()
	everyProtocol(t, func(t *testing.T, p protocol) {
		for _, f := range mishaps() {
			if f.on != nil && !slices.Contains(f.on, p) {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { assertKnown(newWorldIn(t, true, f.handler(), f.options(p)...), f) })
			})
		}
	})
}

func (f mishap) handler() http.Handler {
	if f.answer != nil {
		return f.answer
	}
	return echoing()
}

func (f mishap) options(p protocol) []httptestx.Option {
	if f.lies {
		return append(p.options(), httptestx.Dishonest())
	}
	return p.options()
}

func assertKnown(w *world, f mishap) {
	w.Helper()
	is := is.New(w.T)
	if f.serve != nil {
		f.serve(w.Server)
	}
	if f.conn != nil {
		w.OnConn().First(1).Do(f.conn...)
	}
	if f.plan != nil {
		w.On("POST /").First(1).Do(f.plan...)
	}
	base := w.Client().Transport.(*http.Transport)
	base.ExpectContinueTimeout = time.Hour
	if f.base != nil {
		f.base(base)
	}
	b := resilient.New("orders").Defaults(resilient.Conservative).Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Breaker(resilient.Off)
	if f.setUp != nil {
		b = f.setUp(b)
	}
	c := w.over(base, b)
	if f.warm {
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
	}
	if f.occupied {
		defer w.holdConnection(base)()
	}
	cut := w.order(c, f)
	first := w.first()
	is.Equal(first.Err == nil, f.err == nil) // whether there is a response
	if f.err != nil && !f.err(first.Err) {
		w.Errorf("%q is not of the class that it should be", first.Err)
	}
	if f.err == nil {
		is.Equal(first.Response.StatusCode, f.status)
		if cut == nil != (f.cut == nil) || cut != nil && !f.cut(cut) {
			w.Errorf("reading the body comes to %v", cut)
		}
	}
	known := first.Conclusion
	is.True(known == f.conclusion || f.perhaps && known == resilient.Unknown) // what is known
	retried := len(eventsOf[resilient.RetryScheduled](w)) > 0
	if f.perhaps {
		is.True(!retried || known == resilient.Unprocessed)
	} else {
		is.Equal(retried, known == resilient.Unprocessed && !f.permanent) // what follows from it
	}
	is.True(w.handled() <= 1 || retried || f.warm) // the order is not processed twice
	if f.plan != nil && known == resilient.Unprocessed && first.Err != nil {
		is.True(!w.orders()[0].Handled) // and what is said is true
	}
}

// order sends the POST, and returns what reading its answer comes to.
func (w *world) order(c *http.Client, f mishap) (cut error) {
	w.Helper()
	ctx := w.Context()
	if f.deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, f.deadline)
		defer stop()
	}
	body := io.Reader(strings.NewReader("order"))
	if f.body != nil {
		body = f.body()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, body)
	if err != nil {
		w.Fatal(err)
	}
	if f.wait {
		r.Header.Set("Expect", "100-continue")
	}
	if f.scheme != "" {
		r.URL.Scheme = f.scheme
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	_, cut = io.Copy(io.Discard, resp.Body)
	return cut
}

// holdConnection takes the only connection that there may be, until it is given back.
func (w *world) holdConnection(base *http.Transport) (giveBack func()) {
	base.MaxConnsPerHost = 1
	w.On("GET /long").Do(httptestx.Hang)
	ctx, leave := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/long", nil)
		if resp, err := base.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	synctest.Wait()
	return func() {
		leave()
		<-done
	}
}

// first is the first attempt of the POST.
func (w *world) first() resilient.Attempt {
	if again := eventsOf[resilient.Redispatched](w); len(again) > 0 {
		return again[0].Failed
	}
	for _, e := range eventsOf[resilient.AttemptDone](w) {
		if e.Request.Method == http.MethodPost {
			return e.Attempt
		}
	}
	w.Fatal("there was no attempt")
	return resilient.Attempt{}
}

// orders are the POSTs that have arrived.
func (w *world) orders() (all []httptestx.Exchange) {
	for _, e := range w.Exchanges() {
		if e.Method == http.MethodPost {
			all = append(all, e)
		}
	}
	return all
}
