package httptestx

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Plan returns its arguments, for [Rule.Script] to be readable. A plan ends with
// an answer ([Handle], [Status], [Malformed] or [SendRaw], sent at the end if no [Send]
// came before), or with [Reset], [Close] or [Hang].
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
func check(plan []Step, dishonest bool) error {
	_, err := mistake(plan, dishonest)
	return err
}

// mistake is check, with the place of the step that is wrong; it is behind the last if one is missing.
func mistake(plan []Step, dishonest bool) (at int, err error) {
	p := progress{dishonest: dishonest}
	for i, st := range plan {
		if err := p.allows(st); err != nil {
			return i, err
		}
		p.add(st)
	}
	if p.answer == (Step{}) && p.end == (Step{}) {
		return len(plan), errors.New("no answer: end the plan with handle, status, reset, close or hang")
	}
	return 0, nil
}

// progress is what the steps of a plan so far leave for others. A step in it
// is the last of its kind, the zero Step if there was none.
type progress struct {
	dishonest        bool // allowed
	handled, sent    bool
	answer, raw, end Step
}

func (p *progress) add(st Step) {
	p.handled = p.handled || st.op == opHandle
	p.sent = p.sent || st.op == opSend
	if st.answers() {
		p.answer = st
	}
	if st.raw() {
		p.raw = st
	}
	if st.terminal() {
		p.end = st
	}
}

// deed is what makes a refusal a lie.
func (p *progress) deed() string {
	if p.handled {
		return "handle"
	}
	return "send"
}

// allows reports what speaks against st as the next step.
func (p *progress) allows(st Step) error {
	none := Step{}
	switch {
	case st.op == opNone || st.op == opInvalid:
		return errors.New(st.String())
	case st.connOnly():
		return fmt.Errorf("%v is a step of a connection: OnConn", st)
	case p.end != none:
		return fmt.Errorf("%v after %v: a plan ends with %[2]v", st, p.end)
	case p.raw != none && !st.needsNoHTTP():
		return fmt.Errorf("%v after %v: no HTTP can follow raw bytes", st, p.raw)
	case st.refuses() && (p.handled || p.sent) && !p.dishonest:
		return fmt.Errorf("%v after %s: it tells the client that the request was not processed (RFC 9113, section 8.7); the option Dishonest allows it", st, p.deed())
	case st.op == opHandle && p.handled:
		return errors.New("handle stands twice in one plan")
	case st.op == opHandle && p.answer != none:
		name, _, _ := strings.Cut(p.answer.String(), "(")
		return fmt.Errorf("handle after %s: its answer would be lost; put %[1]s after handle to replace the answer", name)
	case p.sent && (st.op == opStatus || st.op == opInformational || st.op == opMalformed):
		return fmt.Errorf("%v after send: the status line is sent already", st)
	case st.op == opSend && p.answer == none:
		return fmt.Errorf("%v has nothing to send: put handle or status before it", st)
	}
	return nil
}
