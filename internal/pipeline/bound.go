package pipeline

import (
	"net/http"
	"time"
)

// bound notes until when the stages below may take. It starts no timer: waits
// look at the note before they begin, and an attempt runs under one timer for
// whichever of its limits comes first.
func bound(l Limit, d time.Duration) stage {
	if d == 0 {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			k.until[l] = deadline{at: k.now + d, allowed: d}
			return next(k)
		}
	}
}

// nearest is the limit that ends the attempt; ok is false if nothing does. At
// the same instant the total wins: the call is over then.
func (k *call) nearest() (l Limit, d deadline, ok bool) {
	total, attempt := k.until[LimitTotal], k.until[LimitAttempt]
	switch {
	case total.allowed == 0 && attempt.allowed == 0:
		return 0, deadline{}, false
	case attempt.allowed == 0, total.allowed > 0 && total.at <= attempt.at:
		return LimitTotal, total, true
	default:
		return LimitAttempt, attempt, true
	}
}
