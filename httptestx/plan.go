package httptestx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Plan returns its arguments, for [Rule.Script] to be readable. A plan ends with
// an answer ([Handle] or [Status], sent at the end if no [Send] came before), or
// with [Reset], [Close] or [Hang].
func Plan(steps ...Step) []Step { return steps }

// Ready plans. Their names say what happens to the client.
var (
	// ResetBeforeRead resets the connection when the request's headers are
	// there, and nothing more was read: not processed.
	ResetBeforeRead = Plan(Reset)

	// ResetBeforeHandler resets the connection after the whole request was
	// read: not processed, but nothing the client sees tells it from [LostResponse].
	ResetBeforeHandler = Plan(Read, Reset)

	// LostResponse runs the handler and then resets the connection: processed,
	// and the client does not know.
	LostResponse = Plan(Handle, Reset)

	// LostResponseEOF is [LostResponse] with an orderly close in place of the
	// reset: the client sees the connection end.
	LostResponseEOF = Plan(Handle, Close)

	// Stall runs the handler and never answers: processed, and the client waits
	// until its timeout. Plan(Read, Hang) is a stall that was not processed.
	Stall = Plan(Handle, Hang)
)

// TruncatedBody runs the handler, sends its status, its headers and the first
// n bytes of its body, and then resets the connection. A body of n bytes or less
// arrives whole.
func TruncatedBody(n int) []Step { return Plan(Handle, Send(n), Reset) }

// SlowBody runs the handler and sends its status and headers at once, and the
// body d later.
func SlowBody(d time.Duration) []Step { return Plan(Handle, Send(0), Delay(d)) }

// Unavailable answers 503 without the handler. retryAfter becomes the
// Retry-After header, rounded up to whole seconds; zero sends none.
func Unavailable(retryAfter time.Duration) []Step { return refuse(503, retryAfter) }

// TooManyRequests answers 429 without the handler. retryAfter becomes the
// Retry-After header, rounded up to whole seconds; zero sends none.
func TooManyRequests(retryAfter time.Duration) []Step { return refuse(429, retryAfter) }

func refuse(code int, retryAfter time.Duration) []Step {
	switch {
	case retryAfter < 0:
		return Plan(invalid("status(%d): negative Retry-After %v", code, retryAfter))
	case retryAfter == 0:
		return Plan(Status(code))
	}
	seconds := int64((retryAfter-1)/time.Second) + 1
	return Plan(Status(code, "Retry-After", strconv.FormatInt(seconds, 10)))
}

// check reports what is wrong with a plan, if anything.
func check(plan []Step) error {
	var handled, answered, sent bool
	for i, st := range plan {
		switch {
		case st.op == opNone || st.op == opInvalid:
			return errors.New(st.String())
		case st.op == opHandle && handled:
			return errors.New("handle stands twice in one plan")
		case st.op == opHandle && answered:
			return errors.New("handle after status: its answer would be lost; put status after handle to replace the answer")
		case st.op == opStatus && sent:
			return fmt.Errorf("%v after send: the status line is sent already", st)
		case st.op == opSend && !answered:
			return fmt.Errorf("%v has nothing to send: put handle or status before it", st)
		case st.terminal() && i < len(plan)-1:
			return fmt.Errorf("%v after %v: a plan ends with %[2]v", plan[i+1], st)
		}
		handled = handled || st.op == opHandle
		answered = answered || st.op == opHandle || st.op == opStatus
		sent = sent || st.op == opSend
	}
	if !answered && (len(plan) == 0 || !plan[len(plan)-1].terminal()) {
		return errors.New("no answer: end the plan with handle, status, reset, close or hang")
	}
	return nil
}

// planString renders a plan with a star after step number at; none if at is -1.
func planString(plan []Step, at int) string {
	words := make([]string, len(plan))
	for i, st := range plan {
		words[i] = st.String()
		if i == at {
			words[i] += "*"
		}
	}
	return strings.Join(words, " ")
}
