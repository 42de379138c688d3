package pipeline

import (
	"net/http"
	"time"
)

// unbounded is until when a call may take that nothing bounds.
//
//nolint:gochecknoglobals // only read
var unbounded = [2]time.Duration{forever, forever}

// bound notes until when the stages below may take. It starts no timer: waits
// look at the note before they begin, and an attempt runs under one timer for
// whichever of its limits comes first.
func bound(l Limit, d time.Duration) stage {
	if d == 0 {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			k.until[l] = k.now + d
			return next(k)
		}
	}
}

// nearest is the limit that ends the attempt, and when; ok is false if nothing does.
// At the same instant the total wins: the call is over then.
func (k *call) nearest() (l Limit, at time.Duration, ok bool) {
	l, at = LimitTotal, k.until[LimitTotal]
	if k.until[LimitAttempt] < at {
		l, at = LimitAttempt, k.until[LimitAttempt]
	}
	return l, at, at < forever
}

// allowed is how long a limit lets the call or the attempt take.
func (k *call) allowed(l Limit) time.Duration {
	switch l {
	case LimitTotal:
		return k.Total
	case LimitAttempt:
		return k.attemptTimeout()
	default:
		return k.BodyIdle
	}
}
