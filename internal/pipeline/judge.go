package pipeline

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/quota"
)

// judge looks into an error answer for its cause, which may be another than its
// status says: a 429 may be a spent account, which no retry mends.
func (k *call) judge(a *attempt, resp *http.Response) {
	if !k.Causes || resp.StatusCode < http.StatusBadRequest {
		return
	}
	head := k.peek(a, resp)
	k.tick()
	cause := quota.Classify(resp.StatusCode, resp.Header, head)
	transient := cause.Transient()
	if retry, said := quota.ShouldRetry(resp.Header); said {
		transient = retry
	}
	k.troubled().cause = cause.String()
	k.last.final = k.last.Transient && !transient
	k.last.Transient = transient
	k.last.health = k.healthOf(cause)
	if cause != quota.Rate && cause != quota.Overloaded {
		return
	}
	if k.hint, k.hinted = quota.Wait(resp.Header, k.Clock.Now()); !k.hinted {
		k.hint, k.hinted = quota.RetryInfo(head)
	}
}

// healthOf is how the circuit breaker counts a cause. An endpoint that says that it gets
// too much is throttled, and not broken.
func (k *call) healthOf(c quota.Cause) gate.Outcome {
	switch c.Health() {
	case quota.Success:
		return gate.Success
	case quota.Failure:
		if k.endpoint == nil || c != quota.Rate {
			return gate.Failure
		}
	}
	return gate.Ignored
}

// askedFor is the delay that the last response asked for, or the last error of a
// function.
func (k *call) askedFor() (time.Duration, bool) {
	if k.last.Response == nil {
		return askedBy(k.last.Err)
	}
	if d, ok := retryAfter(k.last.Response.Header, k.Clock.Now()); ok {
		return d, true
	}
	if k.trouble == nil {
		return 0, false
	}
	return k.hint, k.hinted
}

// heed lowers the rate limit to what the server says that is left.
func (k *call) heed(h http.Header) {
	if !k.Rate.Heed {
		return
	}
	limits := quota.ReadLimits(h, k.Clock.Now())
	left := limits.Requests
	if k.Rate.Cost != nil || k.quote != nil {
		left = limits.Tokens
	}
	if left.HasRemaining {
		k.lane().Rate.Lower(k.state.Now(), left.Remaining)
	}
}
