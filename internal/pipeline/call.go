package pipeline

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// A call is one RoundTrip on its way through the stages. Its fields belong to
// the goroutine of the call; only end may come from elsewhere, at the body's end.
type call struct {
	*Pipeline
	req    *http.Request // the caller's, never changed
	state  *State
	tell   func(Event) // nil: nobody listens
	start  time.Duration
	now    time.Duration // as last read, by whoever lets time pass
	header http.Header   // of the attempts; the caller's own unless something is added
	body   *source       // nil: none

	endpoint *Endpoint // of the attempt; nil: there are none
	*routing           // nil: likewise
	*toll              // nil: it costs nothing
	*trouble           // nil: all has gone well so far

	until   [2]time.Duration // on the state's clock, by LimitTotal and LimitAttempt; forever: no such limit
	last    outcome          // of the last attempt
	attempt *attempt         // the running one, or the one whose response is returned
	sent    int32            // attempts handed to the transport
	spare   bool             // the one free re-dispatch has been used
	permit  bool             // a place of the concurrency limit is held
	outside bool             // of a bubble of testing/synctest, and on a clock that goes on

	ended     atomic.Bool
	cancelled atomic.Bool                  // by CancelRequest
	trying    atomic.Pointer[http.Request] // of the attempt

	// All in one, for most calls have no other. It makes a call 632 bytes large, which with the runtime's 8 for what is
	// above 512 is a size of its allocator. The next one is 704.
	first attempt
}

// ctx is the caller's context.
func (k *call) ctx() context.Context { return k.req.Context() }

// lane is that of the attempt.
func (k *call) lane() *Lane {
	if k.endpoint != nil {
		return k.endpoint.Lane
	}
	return &k.state.Lane
}

// RoundTrip performs one call.
func (p *Pipeline) RoundTrip(req *http.Request) (*http.Response, error) {
	k := p.newCall(req)
	returned := false
	defer func() {
		if !returned { // a panic or a Goexit below: everything is given back
			k.abandon()
		}
	}()
	k.begin()
	resp, err := k.perform()
	if k.tell != nil {
		k.done(resp, err)
	}
	k.handOver(resp)
	returned = true
	if err != nil {
		k.awaitClient()
	}
	return resp, err
}

// newCall makes a call that holds its state. It runs no code of others, which might panic.
func (p *Pipeline) newCall(req *http.Request) *call {
	k := p.room(req)
	k.Pipeline, k.req, k.header, k.until = p, req, req.Header, unbounded
	k.state = p.Pool.Acquire(req)
	return k
}

// room is the memory of a call and, in one, that of the source of its request's body if it has one.
func (p *Pipeline) room(req *http.Request) *call {
	if !hasBody(req) {
		return &call{}
	}
	both := &struct {
		call
		from source
	}{}
	both.body = &both.from
	both.body.serve(req, p.Retry.Max > 0, p.Retry.BufferLimit)
	return &both.call
}

func (k *call) begin() {
	if k.Listen != nil {
		k.tell = k.Listen(k.ctx(), k.state)
	}
	k.start = k.tick()
	k.key()
	k.add(k)
}

// perform runs the stages, unless the caller's context is done already: then
// nothing is sent and nothing is counted. Request.Cancel is left to the transport,
// whose error for it can't be made elsewhere.
func (k *call) perform() (*http.Response, error) {
	if k.ctx().Err() != nil {
		return nil, k.interrupted(nil)
	}
	return k.handle(k)
}

// handOver gives the response to the caller: the call lasts until its body ends.
func (k *call) handOver(resp *http.Response) {
	k.body.finish()
	if resp == nil || k.hollow(resp) || !k.attempt.keep() {
		k.end()
	}
}

// hollow reports whether a response of net/http's own transport brings no more bytes,
// though over HTTP/2 its stream may still have to end. Callers who leave such a body
// open do no harm over HTTP/1, and must not keep a permit here.
func (k *call) hollow(resp *http.Response) bool {
	switch {
	case !k.traces || resp.StatusCode == http.StatusSwitchingProtocols:
		return false
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return true
	}
	return resp.ContentLength == 0
}

// abandon ends a call that will not return.
func (k *call) abandon() {
	defer k.end() // also if a body panics
	k.body.finish()
	if k.attempt != nil {
		k.attempt.abort(k.last.Response)
	}
}

// end gives back what the call holds, once.
func (k *call) end() {
	if !k.ended.CompareAndSwap(false, true) {
		return
	}
	if k.permit {
		k.state.Limit.Release()
	}
	k.remove(k)
	k.Pool.Release(k.state)
}

// left reports whether the caller no longer waits for this call.
func (k *call) left() bool {
	select {
	case <-k.req.Cancel: //nolint:staticcheck // deprecated, but net/http still honours it
		return true
	default:
		return k.cancelled.Load() || k.ctx().Err() != nil
	}
}

// tick reads the clock for all that is decided at once: what asks the clock by itself
// comes after something that may have taken time.
func (k *call) tick() time.Duration {
	at := k.state.Clock.Now()
	k.now = at.Sub(k.state.Epoch)
	k.outside = at != at.Round(0) // a reading inside has no monotonic part
	return k.now
}

// since is the time that has passed; none if the clock went back.
func (k *call) since(start time.Duration) time.Duration { return max(0, k.state.Now()-start) }

// over is the error of a call that has no time left for another attempt.
func (k *call) over(last error) error {
	if k.left() {
		return k.interrupted(last)
	}
	if left, ok := k.remaining(); ok && left <= 0 {
		return k.Errors.TimedOut(LimitTotal, k.Total, last)
	}
	return nil
}

// interrupted is the error of a caller who left, with what the call had come to.
func (k *call) interrupted(last error) error {
	err := k.ctx().Err()
	if err == nil {
		err = context.Canceled // by Request.Cancel or CancelRequest, which have no error of their own
	}
	cause := context.Cause(k.ctx())
	if last == nil && (cause == nil || cause == err) { //nolint:errorlint // the very same error adds nothing
		return err
	}
	return k.Errors.Interrupted(err, cause, last)
}

// remaining is the time that is left until the total timeout; ok is false if
// there is none.
func (k *call) remaining() (left time.Duration, ok bool) {
	until := k.until[LimitTotal]
	return until - k.state.Now(), until < forever
}

// within is d, or what is left until the total timeout if that is less.
func (k *call) within(d time.Duration) time.Duration {
	if left, ok := k.remaining(); ok {
		return min(d, left)
	}
	return d
}
