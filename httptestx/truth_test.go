package httptestx_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// wireProtocol is a way to speak HTTP.
type wireProtocol struct {
	name string
	tls  bool
	http func(*http.Protocols, bool)
	text string // of Exchange.Proto
}

var wireProtocols = []wireProtocol{
	{"h1", false, (*http.Protocols).SetHTTP1, "HTTP/1.1"},
	{"h1 TLS", true, (*http.Protocols).SetHTTP1, "HTTP/1.1"},
	{"h2 TLS", true, (*http.Protocols).SetHTTP2, "HTTP/2.0"},
	{"h2c", false, (*http.Protocols).SetUnencryptedHTTP2, "HTTP/2.0"},
}

func (p wireProtocol) options(more ...httptestx.Option) []httptestx.Option {
	var set http.Protocols
	p.http(&set, true)
	return append(more, httptestx.WithProtocols(set))
}

// memory returns a server in memory.
func (p wireProtocol) memory(t httptestx.TB, h http.Handler, more ...httptestx.Option) *httptestx.Server {
	if p.tls {
		more = append(more, httptestx.WithTLS())
	}
	return httptestx.NewServer(t, h, p.options(more...)...)
}

// loopback returns a server on loopback.
func (p wireProtocol) loopback(t httptestx.TB, h http.Handler, more ...httptestx.Option) *httptestx.Server {
	srv := httptestx.NewServer(t, h, p.options(more...)...)
	if p.tls {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	return srv
}

// onEachProtocol runs f with a server of each protocol, in memory and on loopback.
func onEachProtocol(t *testing.T, h http.Handler, f func(t *testing.T, srv *httptestx.Server)) {
	for _, p := range wireProtocols {
		t.Run(p.name+" memory", func(t *testing.T) { f(t, p.memory(t, h)) })
		t.Run(p.name+" loopback", func(t *testing.T) { f(t, p.loopback(t, h)) })
	}
}

const (
	goodbye = `http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=""`
	reset   = "read: connection reset by peer"
	late    = "context deadline exceeded"
)

// truths lists what a plain client sees of each step, and what the exchange says; h2 is empty
// where that is the same as on HTTP/1.
var truths = []struct {
	name    string
	plan    []httptestx.Step
	h1, h2  string
	read    httptestx.ReadState
	handled bool
	sent    httptestx.SentState
	end     httptestx.EndState
	h2End   httptestx.EndState // if it is another
}{
	{"Reset", httptestx.ResetBeforeRead, reset, "",
		httptestx.ReadHeaders, false, httptestx.SentNothing, httptestx.EndReset, 0},
	{"Read, Reset", httptestx.ResetBeforeHandler, reset, "",
		httptestx.ReadComplete, false, httptestx.SentNothing, httptestx.EndReset, 0},
	{"Handle, Reset", httptestx.LostResponse, reset, "",
		httptestx.ReadComplete, true, httptestx.SentNothing, httptestx.EndReset, 0},
	{"Handle, Close", httptestx.LostResponseEOF, "EOF", goodbye,
		httptestx.ReadComplete, true, httptestx.SentNothing, httptestx.EndClosed, 0},
	{"Close", httptestx.Plan(httptestx.Close), "EOF", goodbye,
		httptestx.ReadHeaders, false, httptestx.SentNothing, httptestx.EndClosed, 0},
	{"Handle, Hang", httptestx.Stall, "timeout", late,
		httptestx.ReadComplete, true, httptestx.SentNothing, httptestx.EndClientGone, 0},
	{"Hang", httptestx.Plan(httptestx.Hang), "timeout", late,
		httptestx.ReadHeaders, false, httptestx.SentNothing, httptestx.EndClientGone, 0},
	{"Status", httptestx.Unavailable(2 * time.Second), `503 after "2": "Service Unavailable"`, "",
		httptestx.ReadComplete, false, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Send, Reset", httptestx.TruncatedBody(3), `201 after "": "pla", ` + reset, "",
		httptestx.ReadComplete, true, httptestx.SentPartial, httptestx.EndReset, 0},
	{"SendHeaders, Reset", httptestx.TruncatedBody(0), `201 after "": "", ` + reset, "",
		httptestx.ReadComplete, true, httptestx.SentHeaders, httptestx.EndReset, 0},
	// On HTTP/2 an answer ends with a flag, not with its last byte.
	{"Send of all, Reset", httptestx.TruncatedBody(6), `201 after "": "placed"`, `201 after "": "placed", ` + reset,
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndReset, 0},
	{"Send, Close", httptestx.Plan(httptestx.Handle, httptestx.Send(3), httptestx.Close),
		`201 after "": "pla", unexpected EOF`, `201 after "": "pla", ` + goodbye,
		httptestx.ReadComplete, true, httptestx.SentPartial, httptestx.EndClosed, 0},
	{"Delay, Handle", httptestx.Plan(httptestx.Delay(time.Microsecond), httptestx.Handle), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Handle", httptestx.Plan(httptestx.Handle), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Informational, Reset", httptestx.Plan(httptestx.Handle, httptestx.Informational(103), httptestx.Reset), reset, "",
		httptestx.ReadComplete, true, httptestx.SentInfo, httptestx.EndReset, 0},
	{"Slow, Send, Reset", httptestx.Plan(httptestx.Handle, httptestx.Slow(1, time.Microsecond), httptestx.Send(3), httptestx.Reset),
		`201 after "": "pla", ` + reset, "",
		httptestx.ReadComplete, true, httptestx.SentPartial, httptestx.EndReset, 0},
	{"Handle, Status", httptestx.Plan(httptestx.Handle, httptestx.Status(502)), `502 after "": "Bad Gateway"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Latency, Handle", httptestx.Plan(httptestx.Latency(httptestx.Fixed(time.Microsecond)), httptestx.Handle), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Informational, Handle", httptestx.Plan(httptestx.Informational(103), httptestx.Handle), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"SendHeaders, Delay", httptestx.SlowBody(time.Microsecond), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Slow, Handle", httptestx.Plan(httptestx.Slow(2, time.Microsecond), httptestx.Handle), `201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"Malformed(Gzip)", httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Gzip)),
		`201 after "": "placed", gzip: invalid checksum`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},

	{"ResetStream", httptestx.Plan(httptestx.ResetStream(httptestx.ErrCodeInternal)),
		reset, "stream error: stream ID 1; INTERNAL_ERROR; received from peer",
		httptestx.ReadHeaders, false, httptestx.SentNothing, httptestx.EndReset, 0},
	{"Handle, ResetStream", httptestx.Plan(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeCancel)),
		reset, "stream error: stream ID 1; CANCEL; received from peer",
		httptestx.ReadComplete, true, httptestx.SentNothing, httptestx.EndReset, 0},
	{"Send, ResetStream", httptestx.Plan(httptestx.Handle, httptestx.Send(3), httptestx.ResetStream(httptestx.ErrCodeEnhanceYourCalm)),
		`201 after "": "pla", ` + reset, `201 after "": "pla", stream error: stream ID 1; ENHANCE_YOUR_CALM; received from peer`,
		httptestx.ReadComplete, true, httptestx.SentPartial, httptestx.EndReset, 0},
	{"GoAway before", httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeEnhanceYourCalm, httptestx.BeforeThis)),
		"EOF", "http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM",
		httptestx.ReadHeaders, false, httptestx.SentNothing, httptestx.EndClosed, httptestx.EndRefused},
	{"GoAway including, Handle", httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Handle),
		`201 after "": "placed"`, "",
		httptestx.ReadComplete, true, httptestx.SentComplete, httptestx.EndOK, 0},
	{"GoAway including, Close", httptestx.Plan(httptestx.Handle, httptestx.GoAway(httptestx.ErrCodeInternal, httptestx.IncludingThis), httptestx.Close),
		"EOF", strings.Replace(goodbye, "NO_ERROR", "INTERNAL_ERROR", 1),
		httptestx.ReadComplete, true, httptestx.SentNothing, httptestx.EndClosed, 0},
}

func TestEachStepHasOneTruthOnEachProtocol(t *testing.T) {
	for _, tt := range truths {
		for _, p := range wireProtocols {
			saw, end, stream := tt.h1, tt.end, uint32(0)
			if p.text == "HTTP/2.0" {
				stream = 1
				if tt.h2 != "" {
					saw = tt.h2
				}
				if tt.h2End != 0 {
					end = tt.h2End
				}
			}
			check := func(ctx context.Context, is *is.I, srv *httptestx.Server, seen func(string) string) {
				srv.On("POST /orders").Do(tt.plan...)
				is.Equal(seen(postOrder(ctx, srv)), seen(saw)) // what the client sees
				x := srv.Wait(1)[0]
				is.Equal(len(srv.Exchanges()), 1) // net/http has not repeated it
				is.Equal(x.Read, tt.read)         // how much was read
				is.Equal(x.Handled, tt.handled)   // whether the handler ran
				is.Equal(x.Sent, tt.sent)         // how much was sent
				is.Equal(x.End, end)              // how it ended
				is.Equal(x.Stream, stream)        // where it came
				is.Equal(x.Proto, p.text)         // and by which protocol
			}
			t.Run(fmt.Sprintf("%s/%s memory", tt.name, p.name), func(t *testing.T) {
				for range 20 {
					synctest.Test(t, func(t *testing.T) {
						check(t.Context(), is.New(t), p.memory(t, place), unread.Replace) // exactly, in every run
					})
				}
			})
			if saw == "timeout" || saw == late {
				continue // takes a minute
			}
			t.Run(fmt.Sprintf("%s/%s loopback", tt.name, p.name), func(t *testing.T) {
				check(t.Context(), is.New(t), p.loopback(t, place), kernelLost.Replace)
			})
		}
	}
}

// unread makes one of the two errors that a client sees, in memory too, when the reset comes while it is
// still sending the body; on HTTP/2 that leaves after the headers.
var unread = strings.NewReplacer("write: broken pipe", reset)

// kernelLost makes one of the errors in which a lost connection can show on kernel
// sockets, where the goroutine of the client that meets it first decides.
var kernelLost = strings.NewReplacer(
	"read: connection reset by peer", "lost", "write: connection reset by peer", "lost",
	"connect: connection reset by peer", "lost", "http2: client conn could not be established", "lost", "write: broken pipe", "lost", "unexpected EOF", "lost", "EOF", "lost",
)
