package httptestx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// outcomes lists, for each kind of plan, what a plain client sees in memory and
// what the exchange says.
var outcomes = []struct {
	name    string
	plan    []httptestx.Step
	saw     string
	read    httptestx.ReadState
	handled bool
	status  int
	bytes   int64
	sent    httptestx.SentState
	end     httptestx.EndState
}{
	{"ResetBeforeRead", httptestx.ResetBeforeRead, "read: connection reset by peer",
		httptestx.ReadHeaders, false, 0, 0, httptestx.SentNothing, httptestx.EndReset},
	{"ResetBeforeHandler", httptestx.ResetBeforeHandler, "read: connection reset by peer",
		httptestx.ReadComplete, false, 0, 0, httptestx.SentNothing, httptestx.EndReset},
	{"LostResponse", httptestx.LostResponse, "read: connection reset by peer",
		httptestx.ReadComplete, true, 0, 0, httptestx.SentNothing, httptestx.EndReset},
	{"LostResponseEOF", httptestx.LostResponseEOF, "EOF",
		httptestx.ReadComplete, true, 0, 0, httptestx.SentNothing, httptestx.EndClosed},
	{"Close", httptestx.Plan(httptestx.Close), "EOF",
		httptestx.ReadHeaders, false, 0, 0, httptestx.SentNothing, httptestx.EndClosed},
	{"Stall", httptestx.Stall, "timeout",
		httptestx.ReadComplete, true, 0, 0, httptestx.SentNothing, httptestx.EndClientGone},
	{"Read, Hang", httptestx.Plan(httptestx.Read, httptestx.Hang), "timeout",
		httptestx.ReadComplete, false, 0, 0, httptestx.SentNothing, httptestx.EndClientGone},
	{"Hang", httptestx.Plan(httptestx.Hang), "timeout",
		httptestx.ReadHeaders, false, 0, 0, httptestx.SentNothing, httptestx.EndClientGone},
	{"Unavailable", httptestx.Unavailable(1500 * time.Millisecond), `503 after "2": "Service Unavailable"`,
		httptestx.ReadComplete, false, 503, 19, httptestx.SentComplete, httptestx.EndOK},
	{"TooManyRequests", httptestx.TooManyRequests(0), `429 after "": "Too Many Requests"`,
		httptestx.ReadComplete, false, 429, 17, httptestx.SentComplete, httptestx.EndOK},
	{"TruncatedBody", httptestx.TruncatedBody(3), `201 after "": "pla", read: connection reset by peer`,
		httptestx.ReadComplete, true, 201, 3, httptestx.SentPartial, httptestx.EndReset},
	{"TruncatedBody before its first byte", httptestx.TruncatedBody(0), `201 after "": "", read: connection reset by peer`,
		httptestx.ReadComplete, true, 201, 0, httptestx.SentHeaders, httptestx.EndReset},
	{"TruncatedBody behind its end", httptestx.TruncatedBody(99), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndReset},
	{"cut by a FIN", httptestx.Plan(httptestx.Handle, httptestx.Send(3), httptestx.Close), `201 after "": "pla", unexpected EOF`,
		httptestx.ReadComplete, true, 201, 3, httptestx.SentPartial, httptestx.EndClosed},
	{"SlowBody", httptestx.SlowBody(time.Microsecond), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Delay, Handle", httptestx.Plan(httptestx.Delay(time.Microsecond), httptestx.Handle), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Handle", httptestx.Plan(httptestx.Handle), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Handle, Status", httptestx.Plan(httptestx.Handle, httptestx.Status(503)), `503 after "": "Service Unavailable"`,
		httptestx.ReadComplete, true, 503, 19, httptestx.SentComplete, httptestx.EndOK},
	{"Latency", httptestx.Plan(httptestx.Latency(httptestx.Fixed(time.Microsecond)), httptestx.Handle), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"SendHeaders", httptestx.Plan(httptestx.Handle, httptestx.SendHeaders, httptestx.Close), `201 after "": "", unexpected EOF`,
		httptestx.ReadComplete, true, 201, 0, httptestx.SentHeaders, httptestx.EndClosed},
	{"Informational", httptestx.Plan(httptestx.Informational(102), httptestx.Handle), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Informational, Reset", httptestx.Plan(httptestx.Handle, httptestx.Informational(103), httptestx.Reset), "read: connection reset by peer",
		httptestx.ReadComplete, true, 0, 0, httptestx.SentInfo, httptestx.EndReset},
	{"Slow", httptestx.Plan(httptestx.Slow(4, time.Microsecond), httptestx.Handle), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Slow, held", httptestx.Plan(httptestx.Handle, httptestx.Slow(4, time.Microsecond)), `201 after "": "placed"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentComplete, httptestx.EndOK},
	{"Slow, cut", httptestx.Plan(httptestx.Handle, httptestx.Slow(1, time.Microsecond), httptestx.Send(3), httptestx.Reset), `201 after "": "pla", read: connection reset by peer`,
		httptestx.ReadComplete, true, 201, 3, httptestx.SentPartial, httptestx.EndReset},
	{"SendRaw", httptestx.Plan(httptestx.Read, httptestx.SendRaw([]byte("HTTP/1.1 202 Fine\r\nContent-Length: 3\r\n\r\nraw"))), `202 after "": "raw"`,
		httptestx.ReadComplete, false, 202, 43, httptestx.SentRaw, httptestx.EndClosed},
	{"SendRaw, cut", httptestx.Plan(httptestx.Read, httptestx.SendRaw([]byte("HTTP/1.1 202 Fine\r\nConte")), httptestx.Hang), "timeout",
		httptestx.ReadComplete, false, 0, 24, httptestx.SentRaw, httptestx.EndClientGone},
	{"Handle, Send, SendRaw", httptestx.Plan(httptestx.Handle, httptestx.Send(3), httptestx.SendRaw([]byte("xyz"))), `201 after "": "plaxyz"`,
		httptestx.ReadComplete, true, 201, 6, httptestx.SentPartial, httptestx.EndClosed},
	{"Malformed status line", httptestx.Plan(httptestx.Malformed(httptestx.StatusLine)), `net/http: HTTP/1.x transport connection broken: malformed HTTP status code "many"`,
		httptestx.ReadComplete, false, 0, 82, httptestx.SentRaw, httptestx.EndClosed},
	{"Malformed header", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Header)), `net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: "This line has no colon"`,
		httptestx.ReadComplete, true, 0, 114, httptestx.SentRaw, httptestx.EndClosed},
	{"Malformed length", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.ContentLength)), `net/http: HTTP/1.x transport connection broken: bad Content-Length "many"`,
		httptestx.ReadComplete, true, 0, 93, httptestx.SentRaw, httptestx.EndClosed},
	{"Malformed chunk", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)), `201 after "": "pla", invalid byte in chunk length`,
		httptestx.ReadComplete, true, 201, 107, httptestx.SentRaw, httptestx.EndClosed},
	{"Malformed gzip", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Gzip)), `201 after "": "placed", gzip: invalid checksum`,
		httptestx.ReadComplete, true, 201, 30, httptestx.SentComplete, httptestx.EndOK},
	{"Garbage", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Garbage)), "net/http: HTTP/1.x transport connection broken: malformed HTTP response \"\\x00\\x01\\x02not-HTTP\"",
		httptestx.ReadComplete, true, 0, 15, httptestx.SentRaw, httptestx.EndClosed},
}

var place = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, "placed")
})

// TestPlanInMemoryLooksTheSameInEveryRun also checks what the exchange says.
func TestPlanInMemoryLooksTheSameInEveryRun(t *testing.T) {
	for _, o := range outcomes {
		for _, p := range wireProtocols[:2] {
			t.Run(o.name+"/"+p.name, func(t *testing.T) {
				for range map[bool]int{false: 50, true: 10}[p.tls] { // handshakes take their time
					synctest.Test(t, func(t *testing.T) {
						is := is.New(t)
						srv := p.memory(t, place)
						srv.On("POST /orders").Do(o.plan...)
						is.Equal(postOrder(t.Context(), srv), o.saw) // what the client sees
						x := srv.Wait(1)[0]
						is.Equal(x.Read, o.read)       // how much was read
						is.Equal(x.Handled, o.handled) // whether the handler ran
						is.Equal(x.Status, o.status)   // the status that was sent
						is.Equal(x.Bytes, o.bytes)     // the bytes that were sent
						is.Equal(x.Sent, o.sent)       // how much was sent
						is.Equal(x.End, o.end)         // how it ended
					})
				}
			})
		}
	}
}

// TestPlanOnLoopbackIsTheSameFault runs the same plans over the kernel, whose
// errors are a set.
func TestPlanOnLoopbackIsTheSameFault(t *testing.T) {
	for _, o := range outcomes {
		if strings.Contains(o.saw, "timeout") {
			continue // see TestHangOnLoopbackEndsWhenTheClientLeaves
		}
		for _, p := range wireProtocols[:2] {
			t.Run(o.name+"/"+p.name, func(t *testing.T) {
				is := is.New(t)
				srv := p.loopback(t, place)
				srv.On("POST /orders").Do(o.plan...)
				is.Equal(lost.Replace(postOrder(t.Context(), srv)), lost.Replace(o.saw)) // what the client sees, up to the kernel's choice
				x := srv.Wait(1)[0]
				is.Equal(x.Read, o.read)       // how much was read
				is.Equal(x.Handled, o.handled) // whether the handler ran
				is.Equal(x.Sent, o.sent)       // how much was sent
				is.Equal(x.End, o.end)         // how it ended
			})
		}
	}
}

// lost makes one of the errors in which a lost connection can show.
var lost = strings.NewReplacer("read: connection reset by peer", "lost", "unexpected EOF", "lost", "EOF", "lost")

func TestHangOnLoopbackEndsWhenTheClientLeaves(t *testing.T) {
	for _, plan := range [][]httptestx.Step{httptestx.Stall, {httptestx.Read, httptestx.Hang}} {
		for _, p := range wireProtocols {
			is := is.New(t)
			srv := p.loopback(t, place)
			ctx, cancel := context.WithCancel(t.Context())
			srv.On("/").Where(func(*http.Request) bool { cancel(); return true }).Do(plan...)
			is.Equal(postOrder(ctx, srv), "context canceled")     // the client left
			is.Equal(srv.Wait(1)[0].End, httptestx.EndClientGone) // and that ended the exchange
		}
	}
}

// postOrder posts an order with a timeout of a minute, and puts into words what it
// sees.
func postOrder(ctx context.Context, srv *httptestx.Server) string {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errTimeout)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/orders", strings.NewReader(`{"item":1}`))
	resp, err := srv.Client().Do(req)
	if err != nil {
		return errWords(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	words := fmt.Sprintf("%d after %q: %q", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	if err != nil {
		words += ", " + errWords(err)
	}
	return words
}

var errTimeout = errors.New("timeout")

// errWords renders an error without addresses, and checks that a reset is one
// for errors.Is.
func errWords(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		if strings.Contains(err.Error(), "reset by peer") && !errors.Is(err, syscall.ECONNRESET) {
			return "not ECONNRESET: " + err.Error()
		}
		return strings.TrimPrefix(op.Err.Error(), "syscall: ")
	}
	for _, known := range []error{errTimeout, context.Canceled, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if broken := (*url.Error)(nil); errors.As(err, &broken) {
		return broken.Err.Error() // without the address
	}
	return err.Error()
}
