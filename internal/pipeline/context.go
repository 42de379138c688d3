package pipeline

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// An attemptContext is that of an attempt. It has the values of the caller's and
// ends with it or with the attempt, and it shows a transport that traces the
// attempt's hooks.
//
// What can end is a context of the standard library's, so that others that are
// derived from it need no goroutine. It is made when somebody asks for it: a
// transport that never looks does not pay for it.
//
// A client below, which the transport may use, sees by it that it is part of
// another's attempt, and does not retry if that one does: their retries would
// multiply.
type attemptContext struct {
	call *call

	mu   sync.Mutex
	gear *gear           // whose trace is shown, until the transport has answered
	live context.Context // nil: nobody has asked
	end  context.CancelCauseFunc
	over bool // it has ended

	limit Limit // on time, that the alarm is for
}

type (
	nestedKey  struct{}
	retriedKey struct{}
)

// traceKey is under which httptrace looks for a trace in a context. It has no name,
// but asks any context for it.
//
//nolint:gochecknoglobals // only read
var traceKey = func() any {
	var asked keyNoter
	httptrace.ContextClientTrace(&asked)
	return asked.key
}()

type keyNoter struct {
	context.Context
	key any
}

func (n *keyNoter) Value(key any) any {
	n.key = key
	return nil
}

func (c *attemptContext) Deadline() (time.Time, bool) { return c.call.ctx().Deadline() }

func (c *attemptContext) Done() <-chan struct{} { return c.made().Done() }

func (c *attemptContext) Err() error { return c.made().Err() }

func (c *attemptContext) Value(key any) any {
	switch key {
	case nestedKey{}:
		return true
	case retriedKey{}:
		if c.call.Retry.Max > 0 {
			return true
		}
	case traceKey:
		return c.trace()
	}
	return c.values().Value(key)
}

// values is the context that has them. Until the attempt has ended it may be the caller's
// own, of which a context also asks by Value why it has ended.
func (c *attemptContext) values() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil && !c.over {
		return c.call.ctx()
	}
	return c.make()
}

func (c *attemptContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make()
}

// make makes the context that can end, if there is none; mu is held. Once the attempt is
// over, what becomes of the caller's is not its affair any more.
func (c *attemptContext) make() context.Context {
	switch {
	case c.live != nil:
	case c.over:
		c.live, c.end = context.WithCancelCause(context.WithoutCancel(c.call.ctx()))
		c.end(nil)
	default:
		c.live, c.end = context.WithCancelCause(c.call.ctx())
	}
	return c.live
}

// cancel ends the context, as a CancelCauseFunc does: if the caller's has not done so.
func (c *attemptContext) cancel(cause error) {
	if cause != nil || c.call.ctx().Err() != nil {
		c.made() // somebody may ask why it has ended
	}
	c.mu.Lock()
	end := c.end
	c.over = true
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

// trace is the attempt's, with the caller's hooks in it. When the attempt has let go
// of its gear, it is the caller's alone.
func (c *attemptContext) trace() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gear == nil || c.call.Opaque {
		return c.call.ctx().Value(traceKey)
	}
	return c.gear.show(c.call.ctx())
}

// fit gives the context another gear, or none. Whoever has got a trace by now has it
// still.
func (c *attemptContext) fit(g *gear) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gear = g
}

// Nested reports whether ctx is that of an attempt of a client above.
func Nested(ctx context.Context) bool { return ctx.Value(nestedKey{}) != nil }

// nested reports whether a client above retries.
func (k *call) nested() bool { return k.ctx().Value(retriedKey{}) != nil }
