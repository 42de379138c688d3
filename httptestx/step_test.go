package httptestx_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestStepsReadAsTheyAreWritten(t *testing.T) {
	for want, step := range map[string]httptestx.Step{
		"read":                              httptestx.Read,
		"handle":                            httptestx.Handle,
		"delay(1.5s)":                       httptestx.Delay(1500 * time.Millisecond),
		"status(204)":                       httptestx.Status(204),
		"status(503, Retry-After: 2, A: b)": httptestx.Status(503, "retry-after", "2", "A", "b"),
		"send(10)":                          httptestx.Send(10),
		"reset":                             httptestx.Reset,
		"close":                             httptestx.Close,
		"hang":                              httptestx.Hang,
		"sendheaders":                       httptestx.SendHeaders,
		"informational(103, Link: </a>)":    httptestx.Informational(103, "link", "</a>"),
		"slow(10, 1s)":                      httptestx.Slow(10, time.Second),
		"malformed(gzip)":                   httptestx.Malformed(httptestx.Gzip),
		`sendraw("\x00ab\r\n")`:             httptestx.SendRaw([]byte("\x00ab\r\n")),
		`sendraw("HTTP/1.1 200 OK\r\nContent-Length:"..., 38 bytes)`: httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")),
		"latency(fixed(1s))":               httptestx.Latency(httptestx.Fixed(time.Second)),
		"latency(uniform(1ms, 5ms))":       httptestx.Latency(httptestx.Uniform(time.Millisecond, 5*time.Millisecond)),
		"latency(lognormal(80ms, p99 2s))": httptestx.Latency(httptestx.LogNormal(80*time.Millisecond, 2*time.Second)),
		"latency(quantiles(p50 1ms, p99.9 1s, p100 2s))": httptestx.Latency(httptestx.Quantiles(
			httptestx.Quantile{P: 0.5, D: time.Millisecond}, httptestx.Quantile{P: 0.999, D: time.Second}, httptestx.Quantile{P: 1, D: 2 * time.Second})),
	} {
		is.New(t).Equal(step.String(), want) // the form of the time-line
	}
}

func TestStepsCanBeCompared(t *testing.T) {
	is := is.New(t)
	is.True(httptestx.Status(503, "Retry-After", "2") == httptestx.Status(503, "retry-after", "2"))   // equal by meaning
	is.True(httptestx.Status(503) != httptestx.Status(504))                                           // not equal
	is.True(httptestx.Handle != httptestx.Read)                                                       // not equal
	is.True(httptestx.SendHeaders == httptestx.Send(0))                                               // two names for one thing
	is.True(httptestx.SendRaw([]byte("a")) == httptestx.SendRaw([]byte("a")))                         // equal by content
	is.True(httptestx.Slow(1, 2) != httptestx.Slow(1, 3))                                             // not equal
	is.True(httptestx.Latency(httptestx.Uniform(1, 2)) == httptestx.Latency(httptestx.Uniform(1, 2))) // equal by content
	is.True(httptestx.Latency(httptestx.Uniform(1, 2)) != httptestx.Latency(httptestx.Uniform(1, 3))) // not equal
}

func TestRefusalsSayRetryAfterInWholeSeconds(t *testing.T) {
	is := is.New(t)
	is.Equal(httptestx.Unavailable(time.Minute)[0], httptestx.Status(503, "Retry-After", "60"))     // exact
	is.Equal(httptestx.Unavailable(time.Millisecond)[0], httptestx.Status(503, "Retry-After", "1")) // rounded up: never earlier than asked
	is.Equal(httptestx.TooManyRequests(0)[0], httptestx.Status(429))                                // none
}

func TestPlanThatCannotBeCarriedOutFailsTheTestAtOnce(t *testing.T) {
	for _, tt := range []struct {
		plan []httptestx.Step
		want string
	}{
		{nil, "no answer: end the plan with handle, status, reset, close or hang"},
		{httptestx.Plan(httptestx.Delay(time.Second)), "no answer: end the plan with handle, status, reset, close or hang"},
		{httptestx.Plan(httptestx.Step{}), "zero step"},
		{httptestx.Plan(httptestx.Delay(-1)), "delay(-1ns): negative"},
		{httptestx.Plan(httptestx.Status(103)), "status(103): not a final status code, 200 to 999"},
		{httptestx.Plan(httptestx.Status(503, "Retry-After")), `status(503): header "Retry-After" has no value`},
		{httptestx.Plan(httptestx.Status(503, "A\nB", "c")), `status(503): malformed header "A\nB": "c"`},
		{httptestx.Plan(httptestx.Status(503, "A", "c\r\nD: e")), `status(503): malformed header "A": "c\r\nD: e"`},
		{httptestx.Unavailable(-time.Second), "status(503): negative Retry-After -1s"},
		{httptestx.Plan(httptestx.Send(1), httptestx.Handle), "send(1) has nothing to send: put handle or status before it"},
		{httptestx.Plan(httptestx.Handle, httptestx.Send(-1)), "send(-1): negative"},
		{httptestx.Plan(httptestx.Handle, httptestx.Handle), "handle stands twice in one plan"},
		{httptestx.Plan(httptestx.Status(503), httptestx.Handle), "handle after status: its answer would be lost; put status after handle to replace the answer"},
		{httptestx.Plan(httptestx.Handle, httptestx.Send(0), httptestx.Status(503)), "status(503) after send: the status line is sent already"},
		{httptestx.Plan(httptestx.Reset, httptestx.Handle), "handle after reset: a plan ends with reset"},
		{httptestx.Plan(httptestx.Informational(101)), "informational(101): not an informational status code, 100 to 199 except 101"},
		{httptestx.Plan(httptestx.Informational(200)), "informational(200): not an informational status code, 100 to 199 except 101"},
		{httptestx.Plan(httptestx.Informational(103, "Link")), `informational(103): header "Link" has no value`},
		{httptestx.Plan(httptestx.Handle, httptestx.Send(0), httptestx.Informational(103)), "informational(103) after send: the status line is sent already"},
		{httptestx.Plan(httptestx.Informational(103)), "no answer: end the plan with handle, status, reset, close or hang"},
		{httptestx.Plan(httptestx.Slow(0, time.Second), httptestx.Handle), "slow(0, 1s): want 1 byte or more"},
		{httptestx.Plan(httptestx.Slow(1, 0), httptestx.Handle), "slow(1, 0s): want a time above zero"},
		{httptestx.Plan(httptestx.SendRaw(nil)), "sendraw(): nothing to send"},
		{httptestx.Plan(httptestx.SendRaw([]byte("a")), httptestx.Delay(1), httptestx.Handle), `handle after sendraw("a"): no HTTP can follow raw bytes`},
		{httptestx.Plan(httptestx.SendRaw([]byte("a")), httptestx.Read), `read after sendraw("a"): no HTTP can follow raw bytes`},
		{httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Chunk), httptestx.Send(1)), "send(1) after malformed(chunk): no HTTP can follow raw bytes"},
		{httptestx.Plan(httptestx.Malformed(0)), "malformed(0): no such malformation"},
		{httptestx.Plan(httptestx.Malformed(99)), "malformed(99): no such malformation"},
		{httptestx.Plan(httptestx.Malformed(httptestx.Gzip), httptestx.Handle), "handle after malformed: its answer would be lost; put malformed after handle to replace the answer"},
		{httptestx.Plan(httptestx.Handle, httptestx.Send(0), httptestx.Malformed(httptestx.Gzip)), "malformed(gzip) after send: the status line is sent already"},
		{httptestx.Plan(httptestx.Latency(httptestx.Fixed(-1)), httptestx.Handle), "latency(fixed(-1ns): negative)"},
	} {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, nil)
		got := fatal(func() { srv.On("/").Do(tt.plan...) })
		is.Equal(got, `httptestx: On("/").Do: `+tt.want) // says what is wrong
		got = fatal(func() { srv.On("/").Script(httptestx.LostResponse, tt.plan) })
		is.Equal(got, `httptestx: On("/").Script, plan 2: `+tt.want) // and where
	}
}
