package pipeline

import (
	"net/http"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retry repeats what is below it, for as long as each of its gates agrees.
func retry(c RetryConfig) stage {
	if c.Max == 0 {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			for retries := 0; ; retries++ {
				sent := k.sent
				resp, err := next(k)
				if k.sent == sent { // a gate refused the attempt: there is nothing to judge
					return resp, err
				}
				delay, ok := k.again(retries)
				if !ok {
					return resp, err
				}
				k.discard()
				if err := k.wait(delay); err != nil {
					return nil, err
				}
			}
		}
	}
}

// again decides whether the call is repeated, and after what delay. The gates
// are asked in a fixed order, the budget last, so that nothing is charged in
// vain.
func (k *call) again(retries int) (time.Duration, bool) {
	switch {
	case k.left():
		return 0, false
	case k.worth():
	case k.last.final:
		return k.deny(ReasonFinal)
	default:
		return 0, false
	}
	if k.nested() {
		return k.deny(ReasonNested)
	}
	if k.ctx().Value(noRetriesKey{}) != nil {
		return k.deny(ReasonDisabled)
	}
	if retries >= k.Retry.Max {
		return k.deny(ReasonAttempts)
	}
	delay, asked := k.delay()
	switch {
	case delay == backoff.Stop:
		return k.deny(ReasonAttempts)
	case !k.methodAllowed():
		return k.deny(ReasonMethod)
	case k.ambiguous():
		return k.deny(ReasonAmbiguous)
	case !k.body.rewind():
		return k.deny(ReasonBody)
	case asked && k.tooLong(delay):
		return k.deny(ReasonRetryAfter)
	case !k.fits(delay):
		return k.deny(ReasonDeadline)
	}
	if wait, reason := k.soonest(); wait > delay {
		return k.deny(reason)
	}
	if k.Retry.Budget && !k.state.Budget.Retry(k.state.Now()) {
		return k.deny(ReasonBudget)
	}
	k.emit(Event{Kind: RetryScheduled, Attempt: k.lastAttempt(), Delay: delay, RetryAfter: asked})
	return delay, true
}

func (k *call) deny(r Reason) (time.Duration, bool) {
	k.state.denied[r].Add(1)
	k.emit(Event{Kind: RetryDenied, Attempt: k.lastAttempt(), Reason: r})
	return 0, false
}

// worth reports whether the last outcome is one that a retry may mend.
func (k *call) worth() bool {
	if k.attempt.alarm.rang() && k.attempt.limit == LimitTotal {
		return false
	}
	if k.Retry.If != nil {
		return k.Retry.If(k.lastAttempt())
	}
	return k.last.Transient
}

func (k *call) methodAllowed() bool {
	m := k.req.Method
	if m == "" {
		m = http.MethodGet
	}
	if k.Retry.Methods != nil {
		return slices.Contains(k.Retry.Methods, m)
	}
	return !slices.Contains(k.Retry.Except, m)
}

// ambiguous reports that the call must not be repeated because the server may
// have processed it.
func (k *call) ambiguous() bool {
	if !k.Retry.Unprocessed || k.idempotent() {
		return false
	}
	if r := k.last.Response; r != nil && k.Retry.Ambiguous != nil && k.last.Sends <= 1 { // else it answers the last send only
		return slices.Contains(k.Retry.Ambiguous, r.StatusCode)
	}
	return k.last.Conclusion != Unprocessed
}

// fits reports whether there is time left after the delay.
func (k *call) fits(delay time.Duration) bool {
	left, ok := k.timeLeft()
	return !ok || delay < left
}

// wait lets the delay pass. A caller who leaves ends it, and so does the total
// timeout, if reading the old response took so long that the delay no longer fits.
func (k *call) wait(delay time.Duration) error {
	defer k.tick()
	delay = k.within(delay)
	if delay > 0 {
		t := k.Clock.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.Chan():
		case <-k.ctx().Done():
		case <-k.leaving(k):
		case <-k.req.Cancel: //nolint:staticcheck // deprecated, but net/http still honours it
		}
	}
	return k.over(k.problem()) // reading the old response may have taken what was left
}
