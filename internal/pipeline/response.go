package pipeline

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// A responseBody ends its attempt, and the call once it holds it, when the
// body is read to its end, fails, or is closed.
type responseBody struct {
	io.ReadCloser
	attempt *attempt // that it is part of
	watch   *watch   // nil: nobody looks at what is read
	failure *error   // of closing it
	closing sync.Once
	marks   atomic.Uint32
}

// The marks of a body.
const (
	held    uint32 = 1 << iota // its end is the end of the call
	ended                      // nobody will read it any more
	drained                    // it was read to its end
	cutOff                     // by a limit on time, and that was told
)

// An upgradedBody is the connection after a 101: it can be written to, and
// ends only when it is closed.
type upgradedBody struct {
	*responseBody
	io.Writer
}

// A halfCloser is an upgradedBody that can close its write side.
type halfCloser struct {
	upgradedBody
	closeWriter
}

type closeWriter interface{ CloseWrite() error }

// own makes the response the attempt's, and puts the body under watch.
func (a *attempt) own(k *call, resp *http.Response) {
	resp.Request = k.req
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	// The answer to a HEAD has no body either; over HTTP/2 that is another one than
	// http.NoBody.
	if resp.Body == http.NoBody || k.traces && k.req.Method == http.MethodHead {
		a.cancel(nil)
		return
	}
	b := &a.body
	b.ReadCloser, b.attempt, b.watch = resp.Body, a, k.watchOf(a, resp)
	resp.Body = b.shape(resp.StatusCode)
}

// shape returns what the caller sees of b: no less than the transport gave.
func (b *responseBody) shape(status int) io.ReadCloser {
	w, ok := b.ReadCloser.(io.Writer)
	if !ok || status != http.StatusSwitchingProtocols {
		return b
	}
	up := upgradedBody{responseBody: b, Writer: w}
	if c, ok := b.ReadCloser.(closeWriter); ok {
		return halfCloser{up, c}
	}
	return up
}

// Read closes the transport's body at its end, before the attempt's context is
// cancelled: a stream of HTTP/2 then waits until its connection has it off its
// list, and would not once its context is done.
func (b *responseBody) Read(p []byte) (int, error) {
	if b.marks.Load()&drained != 0 {
		return 0, io.EOF
	}
	var n int
	var err error
	if b.watch == nil {
		n, err = b.ReadCloser.Read(p)
	} else {
		n, err = b.watch.read(b.ReadCloser, p)
	}
	if err == nil {
		return n, nil
	}
	return n, b.failed(err)
}

// failed is what a Read returns when the body has ended, or can't be read.
func (b *responseBody) failed(err error) error {
	if err == io.EOF {
		b.marks.Or(drained)
		b.watch.settle(true)
		_ = b.close() // for the caller to see when he closes it
	}
	err = b.explain(err)
	b.end()
	if err != io.EOF {
		b.attempt.call.awaitClient()
	}
	return err
}

// explain is err, or the error of the limit on time that cut the body.
func (b *responseBody) explain(err error) error {
	a, k := b.attempt, b.attempt.call
	switch {
	case err == io.EOF || k.ctx().Err() != nil:
		return err
	case b.watch.cut():
		return b.cut(LimitBodyIdle, err)
	case a.alarm.rang():
		return b.cut(a.limit, err)
	}
	return err
}

// cut tells once that a limit on time has ended the body, if it is the caller's, and returns what its reader gets.
func (b *responseBody) cut(l Limit, err error) error {
	defer b.end() // also if an observer panics
	k := b.attempt.call
	after := k.allowed(l)
	if b.marks.Or(cutOff)&(held|cutOff) == held {
		k.emit(Event{Kind: BodyCut, Limit: l, Delay: after, Attempt: Attempt{Request: k.req}, Endpoint: k.at()})
	}
	return k.Errors.TimedOut(l, after, err)
}

func (b *responseBody) Close() error {
	defer b.end() // also if that panics
	return b.close()
}

// close closes the transport's body, once.
func (b *responseBody) close() error {
	b.closing.Do(func() {
		if err := b.ReadCloser.Close(); err != nil {
			failure := err // err itself would be allocated whatever it is
			b.failure = &failure
		}
	})
	if b.failure != nil {
		return *b.failure
	}
	return nil
}

// Read does not end an upgraded connection at EOF: it may still be written to.
func (b upgradedBody) Read(p []byte) (int, error) { return b.ReadCloser.Read(p) }

// hold makes the end of the body the end of the call. It reports whether
// that end is still to come; hold and end may race, and one of them ends the call.
func (b *responseBody) hold() bool {
	return b.marks.Or(held)&ended == 0
}

func (b *responseBody) end() {
	b.attempt.alarm.stop()
	b.attempt.cancel(nil)
	b.watch.settle(false)
	if b.marks.Or(ended)&held != 0 {
		b.attempt.call.end()
	}
}

// discard ends the last attempt, which is to be repeated. What is left of its
// response is read, within bounds, so that its connection can be used again.
func (k *call) discard() {
	a, resp := k.attempt, k.last.Response
	a.sent.seal()
	if resp == nil || resp.Body == http.NoBody {
		return
	}
	alarm := setAlarm(k.Clock, k.within(k.Discard.Time), func() {
		a.cancel(nil)
		_ = resp.Body.Close() // for a transport that does not heed its context
	})
	defer alarm.stop()
	drain(resp.Body, k.Discard.Bytes)
	_ = resp.Body.Close()
}

// drain reads at most limit bytes, and one more to see whether the body ends there.
func drain(body io.Reader, limit int64) {
	_, _ = io.CopyN(io.Discard, body, limit+1)
}
