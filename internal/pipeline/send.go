package pipeline

import "net/http"

// send hands attempts to the transport: the innermost of the pipeline.
func send(base http.RoundTripper) handler {
	return func(k *call) (*http.Response, error) {
		a := k.newAttempt()
		k.sent++
		if k.sent == 1 && k.Retry.Budget {
			k.state.Budget.Request(k.now)
		}
		resp, err := k.dispatch(a, base)
		if err != nil && k.stale() {
			k.spare = true
			k.redispatched()
			k.tick()
			resp, err = k.dispatch(k.newAttempt(), base)
		}
		if k.tell != nil {
			k.attempted(AttemptDone)
			k.tick()
		}
		return resp, err
	}
}

// dispatch sends the request once and concludes from what came of it.
func (k *call) dispatch(a *attempt, base http.RoundTripper) (*http.Response, error) {
	k.calm()
	k.announce(a)
	k.trying.Store(&a.req)
	resp, err := base.RoundTrip(&a.req)
	k.tick()
	silent := resp == nil && err == nil
	switch {
	case !a.alarm.stop():
		err = k.cut(a, err)
	case silent:
		err = k.Errors.NoResponse()
	case err != nil && a.gear.seen.halted.Load() && !k.left():
		err = k.Errors.Resent()
	}
	if err != nil {
		k.last = k.failed(a, err)
		if silent { // a transport that is broken stays so
			k.last.Transient = false
		}
		k.report(a)
		a.abort(resp) // net/http ignores a response beside an error, but it must not leak
		k.resent(a)
		return nil, err
	}
	k.last = k.answered(a, resp)
	k.judge(a, resp)
	k.report(a)
	k.heed(resp.Header)
	if k.endpoint != nil {
		k.endpoint.translate(resp, a.req.URL, k.req.URL)
	}
	a.own(k, resp)
	k.cover(a)
	k.resent(a)
	k.unequip(a)
	return resp, nil
}

// resent tells of it when the transport has sent the request again by itself, and
// charges it to the budget: to the server it is a retry like any other.
func (k *call) resent(a *attempt) {
	if !a.gear.seen.replayed() {
		return
	}
	if k.Retry.Budget {
		k.state.Budget.Charge(k.state.Now())
	}
	k.attempted(Replayed)
}

// cut is the error of an attempt that was ended by a limit on time. A caller
// who left meanwhile gets his own.
func (k *call) cut(a *attempt, err error) error {
	if k.left() {
		return k.interrupted(nil)
	}
	return k.Errors.TimedOut(a.limit, k.allowed(a.limit), err)
}

// cover makes the total timeout bound the response's body too, where that is
// asked for. An upgraded connection is nobody's body.
func (k *call) cover(a *attempt) {
	if !k.TotalIncludesBody || a.body.attempt == nil || k.last.Response.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	left, ok := k.remaining()
	if !ok {
		return
	}
	a.limit = LimitTotal
	a.alarm = setAlarm(k.Clock, left, func() { a.cancel(reached(LimitTotal)) })
}

// stale reports whether the attempt that just failed met a pooled connection
// that turned out dead, with nothing processed and the body still to be had:
// then it is sent again, once a call, without retry and budget.
func (k *call) stale() bool {
	lost := k.attempt.gear.seen.reused.Load() || unrewound(k.last.Err)
	return !k.spare && lost && k.last.Conclusion == Unprocessed &&
		k.last.Transient && !k.attempt.alarm.rang() && !k.left() && k.body.rewind()
}
