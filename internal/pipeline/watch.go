package pipeline

import (
	"io"
	"net/http"
	"time"
)

// A watch is kept on a response's body that may only stand still for so long, or whose
// bytes say what the request has cost. It belongs to the one who reads. A nil watch is
// on a body that nobody looks at.
type watch struct {
	attempt *attempt
	usage   *usage // nil: nobody reads along
	idle    *alarm // of the last Read, while BodyIdle bounds it
	idled   bool   // it has cut the body
}

func (k *call) watchOf(a *attempt, resp *http.Response) *watch {
	usage := k.usageOf(resp)
	if k.BodyIdle == 0 && usage == nil {
		return nil
	}
	return &watch{attempt: a, usage: usage}
}

// read is a Read that may only wait so long for bytes, and whose bytes are looked
// at. A caller that is slow to read is not held against the server.
func (w *watch) read(body io.Reader, p []byte) (int, error) {
	if d := w.attempt.call.BodyIdle; d > 0 {
		w.wake(d)
	}
	n, err := body.Read(p)
	w.idled = !w.idle.stop() || w.idled // whatever was before, it is stopped
	w.usage.read(p[:n])
	return n, err
}

// wake sets the alarm for a Read, the one of the Read before if that has been quiet.
func (w *watch) wake(d time.Duration) {
	if w.idle != nil && w.idle.quiet {
		w.idle.again(d)
		return
	}
	w.idle = setAlarm(w.attempt.call.Clock, d, func() { w.attempt.cancel(reached(LimitBodyIdle)) })
}

// cut reports whether the body has stood still for too long.
func (w *watch) cut() bool { return w != nil && w.idled }

// settle settles the charge by what was read.
func (w *watch) settle(whole bool) {
	if w != nil {
		w.usage.settle(whole)
	}
}
