package pipeline

import "context"

// A context with an outerRetry is that of an attempt of a client that retries.
// A client below it, which its transport may use, does not retry as well: their
// retries would multiply.
type outerRetry struct{ context.Context }

type outerRetryKey struct{}

func (c outerRetry) Value(key any) any {
	if key == (outerRetryKey{}) {
		return true
	}
	return c.Context.Value(key)
}

func (k *call) mark(ctx context.Context) context.Context {
	if k.Retry.Max == 0 {
		return ctx
	}
	return outerRetry{ctx}
}

func (k *call) nested() bool { return k.ctx.Value(outerRetryKey{}) != nil }
