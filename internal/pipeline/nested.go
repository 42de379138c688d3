package pipeline

import "context"

// An attemptContext is that of an attempt. A client below, which the transport may
// use, sees by it that it is part of another's attempt, and does not retry if that
// one does: their retries would multiply.
type attemptContext struct {
	context.Context
	retries bool
}

type (
	nestedKey  struct{}
	retriedKey struct{}
)

func (c attemptContext) Value(key any) any {
	switch key {
	case nestedKey{}:
		return true
	case retriedKey{}:
		if c.retries {
			return true
		}
	}
	return c.Context.Value(key)
}

func (k *call) mark(ctx context.Context) context.Context {
	return attemptContext{ctx, k.Retry.Max > 0}
}

// Nested reports whether ctx is that of an attempt of a client above.
func Nested(ctx context.Context) bool { return ctx.Value(nestedKey{}) != nil }

// nested reports whether a client above retries.
func (k *call) nested() bool { return k.ctx.Value(retriedKey{}) != nil }
