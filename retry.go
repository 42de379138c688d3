package resilient

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/cenkalti/backoff/v5"
)

// RetryPolicy repeats attempts whose failure may pass. Whatever it says, a retry is made only while the caller waits for
// it, and if the body can be sent again. When there is no further retry, the caller gets the last response or error as it
// is. The zero policy is off.
type RetryPolicy struct {
	// MaxRetries is how many attempts may follow the first: 0 or more. 0 said with the option [MaxRetries], or in a
	// document, turns retries off as [Off] does. A policy written by hand that sets anything else needs 1 or more.
	MaxRetries int

	// BackoffBase is the wait before the first retry, before jitter: 0 to 24h, and at most BackoffCap. Each further wait is
	// twice the one before. 0 is no wait at all.
	BackoffBase time.Duration

	// BackoffCap is the longest wait, taken after jitter: 0 to 24h, where 0 is none. It does not shorten a wait that the
	// server asks for.
	BackoffCap time.Duration

	// Jitter spreads the waits, so that clients that failed together do not come back together. It must be set.
	Jitter Jitter

	// BackoffFunc, if it is not nil, replaces BackoffBase, BackoffCap and Jitter. It is called once for each call, and must
	// be safe for concurrent use; what it returns, which must not be nil, is used by that call alone. A wait of
	// [backoff.Stop] ends the retries.
	BackoffFunc func() backoff.BackOff `json:"-"`

	// RetryAfter honours the wait that a server asks for, with Retry-After (RFC 9110, section 10.2.3), retry-after-ms or
	// x-ms-retry-after-ms: it replaces the backoff.
	RetryAfter bool

	// MaxRetryAfter is the longest wait that a server may ask for: 0 to 24h. A retry that would have to wait longer is not
	// made. 0 is what the total timeout leaves, which always bounds it.
	MaxRetryAfter time.Duration

	// Methods, if not nil, are the only methods that are retried: one at least. They are compared with the method of the
	// caller's request, and case matters, as it does to net/http. Methods and ExceptMethods exclude each other.
	Methods []string

	// ExceptMethods are methods that are not retried. They are compared as Methods are.
	ExceptMethods []string

	// BufferLimit is how many bytes of a request's body are kept for a retry if the request has no GetBody: 0 or more. 0
	// keeps none. A request with a longer body is sent once.
	BufferLimit int

	// ReadCauses looks into error answers for their cause, as AI services tell it: a 429 may mean that an account is
	// spent, or that a request is larger than its quota, which no wait mends; then no retry is made. It heeds x-should-retry,
	// and waits that are told in rate limit headers or in the body. The circuit breaker does not count answers that are the
	// request's or the account's fault. The caller still gets the body whole.
	ReadCauses bool

	// RetryIf, if it is not nil, says which outcomes are worth a retry, instead of [Attempt].Transient. It must be safe for
	// concurrent use.
	RetryIf func(Attempt) bool `json:"-"`
}

// A RetryOption changes one setting of a [RetryPolicy].
type RetryOption interface{ retry(*draft) }

type retryFunc func(*draft)

func (f retryFunc) retry(d *draft) { f(d) }

// MaxRetries is how many attempts may follow the first: 0 or more. 0 turns retries off. It sets
// [RetryPolicy].MaxRetries.
func MaxRetries(n int) RetryOption {
	return retryFunc(func(d *draft) {
		d.Retry.MaxRetries = n
		d.gaveMaxRetries()
	})
}

// Backoff gives the wait before the first retry, which doubles from one to the next, and the longest wait: each 0 to
// 24h. The base must not exceed the cap; a cap of 0 is none. It sets [RetryPolicy].BackoffBase and BackoffCap, and
// takes a BackoffFunc away.
func Backoff(base, limit time.Duration) RetryOption {
	return retryFunc(func(d *draft) {
		d.Retry.BackoffBase, d.Retry.BackoffCap = base, limit
		d.gaveBackoff(gaveBase | gaveCap)
	})
}

// BackoffFunc makes the waits of each call, instead of [Backoff] and [Jitter]. It sets [RetryPolicy].BackoffFunc, and
// must not be nil.
func BackoffFunc(f func() backoff.BackOff) RetryOption {
	return retryFunc(func(d *draft) {
		if f == nil {
			d.refuseNil("Retry(BackoffFunc(%s))")
		}
		d.Retry.BackoffFunc = f
	})
}

// RetryAfter says whether the wait that a server asks for is honoured. It sets [RetryPolicy].RetryAfter.
func RetryAfter(honoured bool) RetryOption {
	return retryFunc(func(d *draft) { d.Retry.RetryAfter = honoured })
}

// ReadCauses says whether error answers are read for their cause, as AI services tell it. It sets
// [RetryPolicy].ReadCauses.
func ReadCauses(read bool) RetryOption {
	return retryFunc(func(d *draft) { d.Retry.ReadCauses = read })
}

// MaxRetryAfter is the longest wait that a server may ask for: 0 to 24h, 0 for what the total timeout leaves. It sets
// [RetryPolicy].MaxRetryAfter.
func MaxRetryAfter(longest time.Duration) RetryOption {
	return retryFunc(func(d *draft) { d.Retry.MaxRetryAfter = longest })
}

// RetryMethods names the only methods that are retried: one at least. It sets [RetryPolicy].Methods.
func RetryMethods(methods ...string) RetryOption {
	methods = append([]string{}, methods...) // not nil, which would be all methods
	return retryFunc(func(d *draft) { d.Retry.Methods = methods })
}

// ExceptMethods names methods that are not retried; without one it takes the exceptions away. It sets
// [RetryPolicy].ExceptMethods.
func ExceptMethods(methods ...string) RetryOption {
	methods = slices.Clone(methods)
	return retryFunc(func(d *draft) { d.Retry.ExceptMethods = methods })
}

// BufferLimit is how many bytes are kept for a retry of a body that can't be had again otherwise: 0 or more. It sets
// [RetryPolicy].BufferLimit.
func BufferLimit(bytes int) RetryOption {
	return retryFunc(func(d *draft) { d.Retry.BufferLimit = bytes })
}

// RetryIf says which outcomes are worth a retry, instead of [Attempt].Transient. It sets [RetryPolicy].RetryIf, and
// must not be nil.
func RetryIf(f func(Attempt) bool) RetryOption {
	return retryFunc(func(d *draft) {
		if f == nil {
			d.refuseNil("Retry(RetryIf(%s))")
		}
		d.Retry.RetryIf = f
	})
}

// SafeMethodsOnly never retries POST, PUT, PATCH, DELETE and CONNECT. It stands for [ExceptMethods] of these.
const SafeMethodsOnly = safeMethods(0)

type safeMethods int

func (safeMethods) retry(d *draft) {
	d.Retry.ExceptMethods = []string{
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
	}
}

func (off) retry(d *draft) {
	d.Retry = RetryPolicy{}
	d.noRetries = false
	d.given &^= usesRetry | gaveBase | gaveCap
}

// gaveMaxRetries remembers whether retries were switched off by number. That takes effect only when all options are
// applied: those after it may be meant for the day when the number is another.
func (d *draft) gaveMaxRetries() { d.noRetries = d.Retry.MaxRetries == 0 }

func (d *draft) gaveBackoff(what marks) {
	d.Retry.BackoffFunc = nil
	d.given |= what
}

// off reports whether nothing is set. If something is, check sees to it that everything is that must be.
func (p RetryPolicy) off() bool {
	return p.MaxRetries == 0 && p.BackoffBase == 0 && p.BackoffCap == 0 && p.Jitter == 0 && p.BackoffFunc == nil &&
		!p.RetryAfter && p.MaxRetryAfter == 0 && p.Methods == nil && p.ExceptMethods == nil && p.BufferLimit == 0 && !p.ReadCauses &&
		p.RetryIf == nil
}

func (d *draft) startRetry() {
	d.given |= usesRetry
	d.noRetries = false
	if d.Retry.off() {
		d.Retry = Standard.Config().Retry
	}
}

func (d *draft) endRetry() {
	if d.noRetries {
		Off.retry(d)
	}
}

func (d *draft) applyRetry(opts []RetryOption) {
	d.startRetry()
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Retry(%s)")
			continue
		}
		o.retry(d)
	}
	d.endRetry()
}

// maxDelay bounds the waits between attempts.
const maxDelay = 24 * time.Hour

func isDelay(d time.Duration) bool { return d >= 0 && d <= maxDelay }

// backoffClashes reports whether the first wait would exceed the longest.
func (d *draft) backoffClashes() bool {
	p := d.Retry
	return p.BackoffFunc == nil && isDelay(p.BackoffBase) && isDelay(p.BackoffCap) &&
		p.BackoffCap > 0 && p.BackoffBase > p.BackoffCap
}

func (d *draft) fitBackoff() {
	switch {
	case !d.backoffClashes():
	case !d.given.has(gaveCap):
		d.Retry.BackoffCap = d.Retry.BackoffBase
	case !d.given.has(gaveBase):
		d.Retry.BackoffBase = d.Retry.BackoffCap
	}
}

func (d *draft) checkRetry() {
	p := d.Retry
	if p.off() && !d.given.has(usesRetry) {
		return
	}
	if p.MaxRetries < 0 {
		d.refuse("Retry(MaxRetries(%s))", strconv.Itoa(p.MaxRetries), "must be 0 or more", "0, or Retry(Off), is for none")
	} else {
		d.checkCount("Retry(MaxRetries(%s))", p.MaxRetries, 1, math.MaxInt)
	}
	d.checkBackoff()
	d.checkDuration("Retry(MaxRetryAfter(%s))", p.MaxRetryAfter, 0, maxDelay, "")
	d.checkMethods()
	d.checkCount("Retry(BufferLimit(%s))", p.BufferLimit, 0, math.MaxInt)
}

func (d *draft) checkBackoff() {
	p := d.Retry
	if p.BackoffFunc != nil {
		return
	}
	both := short(p.BackoffBase) + ", " + short(p.BackoffCap)
	if !isDelay(p.BackoffBase) {
		d.refuse("Retry(Backoff(%s))", both, "the base must be 0s to 24h", "a base of 0 does not wait")
	}
	if !isDelay(p.BackoffCap) {
		d.refuse("Retry(Backoff(%s))", both, "the cap must be 0s to 24h", "0 is none")
	}
	if d.backoffClashes() {
		d.refuse("Retry(Backoff(%s))", both, "the base must not exceed the cap", "a cap of 0 is none")
	}
	if p.Jitter < Decorrelated || p.Jitter > NoJitter {
		fix := usualJitter
		if p.Jitter == 0 {
			fix = needed("Retry(Jitter)")
		}
		d.refuse("Retry(%s)", p.Jitter.String(), "must be Decorrelated, FullJitter or NoJitter", fix)
	}
}

func (d *draft) checkMethods() {
	p := d.Retry
	methods, except := quoteAll(p.Methods), quoteAll(p.ExceptMethods)
	if p.Methods != nil && len(p.Methods) == 0 {
		d.refuse("Retry(RetryMethods(%s))", "", "must name a method", "Retry(Off) retries none")
	}
	if len(p.Methods) > 0 && len(p.ExceptMethods) > 0 {
		d.refuse("Retry(RetryMethods(%s))", methods, "excludes Retry(ExceptMethods("+except+"))", "give one of them")
	}
	if slices.ContainsFunc(p.Methods, notToken) {
		d.refuse("Retry(RetryMethods(%s))", methods, "must be HTTP methods", "give each by itself, as GET")
	}
	if slices.ContainsFunc(p.ExceptMethods, notToken) {
		d.refuse("Retry(ExceptMethods(%s))", except, "must be HTTP methods", "give each by itself, as GET")
	}
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

// notToken reports whether s is not a token, and hence no method (RFC 9110, sections 5.6.2 and 9.1).
func notToken(s string) bool {
	return s == "" || strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// backoffs returns what makes the delays of one call; they are not shared.
func backoffs(p RetryPolicy) func() backoff.BackOff {
	switch {
	case p.BackoffFunc != nil:
		return p.BackoffFunc
	case p.Jitter == Decorrelated:
		return func() backoff.BackOff { return pipeline.Decorrelated(p.BackoffBase, p.BackoffCap, rand.Float64) }
	default:
		return func() backoff.BackOff {
			return pipeline.Exponential(p.BackoffBase, p.BackoffCap, p.Jitter == FullJitter)
		}
	}
}

// WithoutRetries returns a context whose calls are not retried, whatever the client's settings are. A retry that would have
// been made is denied with the reason disabled. A dead pooled connection still costs a free re-dispatch.
func WithoutRetries(ctx context.Context) context.Context { return pipeline.WithoutRetries(ctx) }
