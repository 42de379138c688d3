package pipeline

import "net/http"

// send hands attempts to the transport: the innermost of the pipeline.
func send(base http.RoundTripper) handler {
	return func(k *call) (*http.Response, error) {
		a := k.newAttempt()
		k.sent++
		if k.sent == 1 && k.Retry.Budget {
			k.state.Budget.Request(k.state.Now())
		}
		resp, err := k.dispatch(a, base)
		if err != nil && k.stale() {
			k.spare = true
			failed := k.last.Attempt
			k.last = outcome{} // of which nothing stands if the rest panics
			k.emit(Event{Kind: Redispatched, Attempt: failed})
			resp, err = k.dispatch(k.newAttempt(), base)
		}
		k.emit(Event{Kind: AttemptDone, Attempt: k.last.Attempt})
		return resp, err
	}
}

// dispatch sends the request once and concludes from what came of it.
func (k *call) dispatch(a *attempt, base http.RoundTripper) (*http.Response, error) {
	resp, err := base.RoundTrip(a.req)
	silent := resp == nil && err == nil
	switch {
	case !a.alarm.stop():
		err = k.cut(a, err)
	case silent:
		err = k.Errors.NoResponse()
	case err != nil && a.seen.halted.Load() && !k.left():
		err = k.Errors.Resent()
	}
	if err != nil {
		k.last = k.failed(a, err)
		if silent { // a transport that is broken stays so
			k.last.Transient = false
		}
		a.resp = resp // net/http ignores a response beside an error, but it must not leak
		a.abort()
		k.resent(a)
		return nil, err
	}
	k.last = k.answered(a, resp)
	k.judge(a, resp)
	k.heed(resp.Header)
	if k.endpoint != nil {
		k.endpoint.translate(resp, a.req.URL, k.req.URL)
	}
	a.own(k, resp)
	k.cover(a)
	k.resent(a)
	return resp, nil
}

// resent tells of it when the transport has sent the request again by itself, and
// charges it to the budget: to the server it is a retry like any other.
func (k *call) resent(a *attempt) {
	if !a.seen.replayed() {
		return
	}
	if k.Retry.Budget {
		k.state.Budget.Charge(k.state.Now())
	}
	k.emit(Event{Kind: Replayed, Attempt: k.last.Attempt})
}

// cut is the error of an attempt that was ended by a limit on time. A caller
// who left meanwhile gets his own.
func (k *call) cut(a *attempt, err error) error {
	if k.left() {
		return k.interrupted(nil)
	}
	return k.Errors.TimedOut(a.limit, k.until[a.limit].allowed, err)
}

// cover makes the total timeout bound the response's body too, where that is
// asked for. An upgraded connection is nobody's body.
func (k *call) cover(a *attempt) {
	left, ok := k.remaining()
	if !ok || !k.TotalIncludesBody || a.body == nil || a.resp.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	a.limit = LimitTotal
	a.alarm = setAlarm(k.Clock, left, func() { a.cancel(reached(LimitTotal)) })
}

// stale reports whether the attempt that just failed met a pooled connection
// that turned out dead, with nothing processed and the body still to be had:
// then it is sent again, once a call, without retry and budget.
func (k *call) stale() bool {
	lost := k.attempt.seen.reused.Load() || unrewound(k.last.Err)
	return !k.spare && lost && k.last.Conclusion == Unprocessed &&
		k.last.Transient && !k.attempt.alarm.rang() && !k.left() && k.body.rewind()
}
