package resilient

import (
	"context"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// TimeoutPolicy bounds how long things may take. Its settings are independent: each is off at zero, and the zero policy
// bounds nothing.
//
// Total and PerAttempt end at the response headers, so that neither cuts a body that flows, however long it is. BodyIdle
// is for a body that stands still.
type TimeoutPolicy struct {
	// Total bounds the whole call until its response headers, every attempt and every wait between them included: 10ms to
	// 24h, or 0 for none. A call that takes longer fails with [ErrTotalTimeout].
	Total time.Duration

	// PerAttempt bounds each attempt, from its dispatch to its response headers: 10ms to 24h and at most Total, or 0 for
	// none. An attempt that takes longer fails with [ErrAttemptTimeout], which is worth a retry.
	PerAttempt time.Duration

	// BodyIdle bounds how long a read of a response body may have to wait: 10ms to 24h, or 0 for none. A read that would
	// have to wait longer fails with [ErrBodyIdle].
	BodyIdle time.Duration

	// TotalIncludesBody lets Total run on until the response body has been read, as the Timeout of an [http.Client] does.
	// It needs a Total.
	TotalIncludesBody bool
}

// A TimeoutOption changes one setting of a [TimeoutPolicy].
type TimeoutOption interface{ timeout(*draft) }

type timeoutFunc func(*draft)

func (f timeoutFunc) timeout(d *draft) { f(d) }

// Total bounds the whole call, waits included, until its response headers: 10ms to 24h, or 0 for none. It sets
// [TimeoutPolicy].Total.
func Total(limit time.Duration) TimeoutOption {
	return timeoutFunc(func(d *draft) {
		d.Timeout.Total = limit
		d.given |= gaveTotal
	})
}

// PerAttempt bounds each attempt until its response headers: 10ms to 24h, or 0 for none. It sets
// [TimeoutPolicy].PerAttempt.
func PerAttempt(limit time.Duration) TimeoutOption {
	return timeoutFunc(func(d *draft) {
		d.Timeout.PerAttempt = limit
		d.given |= gaveAttempt
	})
}

// WithAttemptTimeout returns a context whose calls have another attempt timeout than the client's, or with 0 or less none.
// It may be longer than the total timeout, which still ends the call.
func WithAttemptTimeout(ctx context.Context, limit time.Duration) context.Context {
	return pipeline.WithAttemptTimeout(ctx, limit)
}

// BodyIdle bounds how long a read of the response body may wait for the next bytes: 10ms to 24h, or 0 for none. It sets
// [TimeoutPolicy].BodyIdle.
func BodyIdle(limit time.Duration) TimeoutOption {
	return timeoutFunc(func(d *draft) { d.Timeout.BodyIdle = limit })
}

// TotalIncludesBody says whether the total timeout runs on until the response body has been read. It sets
// [TimeoutPolicy].TotalIncludesBody.
func TotalIncludesBody(included bool) TimeoutOption {
	return timeoutFunc(func(d *draft) {
		d.Timeout.TotalIncludesBody = included
		d.given |= gaveTotalBody
	})
}

// timeout counts as the user's word on the total: the Timeout of a client to build around does not come back.
func (off) timeout(d *draft) {
	d.Timeout = TimeoutPolicy{}
	d.given |= gaveTotal | gaveTotalBody | gaveAttempt
}

func (p TimeoutPolicy) off() bool { return p == TimeoutPolicy{} }

func (d *draft) applyTimeout(opts []TimeoutOption) {
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Timeout(%s)")
			continue
		}
		o.timeout(d)
	}
}

// The range of a timeout is the one that .NET's resilience handler accepts.
const (
	minTimeout = 10 * time.Millisecond
	maxTimeout = 24 * time.Hour
)

func isTimeout(d time.Duration) bool { return d >= minTimeout && d <= maxTimeout }

// timeoutsClash reports whether both timeouts are on and fine by themselves, but an attempt may outlive its call.
func (d *draft) timeoutsClash() bool {
	t := d.Timeout
	return isTimeout(t.Total) && isTimeout(t.PerAttempt) && t.PerAttempt > t.Total
}

func (d *draft) fitTimeouts() {
	switch {
	case !d.timeoutsClash():
	case !d.given.has(gaveAttempt):
		d.Timeout.PerAttempt = d.Timeout.Total
	case !d.given.has(gaveTotal):
		d.Timeout.Total = d.Timeout.PerAttempt
	}
}

func (d *draft) checkTimeout() {
	t := d.Timeout
	total := "Timeout(Total(%s))"
	if d.inherited {
		total = "Client(&http.Client{Timeout: %s})"
	}
	d.checkDuration(total, t.Total, minTimeout, maxTimeout, "none")
	d.checkDuration("Timeout(PerAttempt(%s))", t.PerAttempt, minTimeout, maxTimeout, "none")
	d.checkDuration("Timeout(BodyIdle(%s))", t.BodyIdle, minTimeout, maxTimeout, "none")
	if t.TotalIncludesBody && t.Total == 0 {
		d.refuse("Timeout(TotalIncludesBody(%s))", "true", "needs a total timeout", "set Total as well")
	}
	if d.timeoutsClash() {
		d.refuse("Timeout(PerAttempt(%s))", short(t.PerAttempt),
			"must not exceed "+typed(total, short(t.Total)), "shorten the attempt or give the call more time")
	}
}
