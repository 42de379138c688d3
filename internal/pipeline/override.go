package pipeline

import (
	"context"
	"net/http"
	"time"
)

type (
	noRetriesKey      struct{}
	attemptTimeoutKey struct{}
)

// WithoutRetries marks the calls made with the context as ones not to repeat.
func WithoutRetries(ctx context.Context) context.Context {
	return context.WithValue(ctx, noRetriesKey{}, true)
}

// WithAttemptTimeout gives the attempts of the calls made with the context another
// timeout; zero is none.
func WithAttemptTimeout(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, attemptTimeoutKey{}, d)
}

// boundAttempt is bound for each attempt, unless the caller has another timeout for it.
func boundAttempt() stage {
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			if d := k.attemptTimeout(); d > 0 {
				k.until[LimitAttempt] = k.now + d
			}
			return next(k)
		}
	}
}

// attemptTimeout is that of the caller's context, or else of the settings.
func (k *call) attemptTimeout() time.Duration {
	if own, ok := k.ctx().Value(attemptTimeoutKey{}).(time.Duration); ok {
		return own
	}
	return k.Attempt
}
