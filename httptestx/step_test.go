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
	} {
		is.New(t).Equal(step.String(), want) // the form of the time-line
	}
}

func TestStepsCanBeCompared(t *testing.T) {
	is := is.New(t)
	is.True(httptestx.Status(503, "Retry-After", "2") == httptestx.Status(503, "retry-after", "2")) // equal by meaning
	is.True(httptestx.Status(503) != httptestx.Status(504))                                         // not equal
	is.True(httptestx.Handle != httptestx.Read)                                                     // not equal
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
