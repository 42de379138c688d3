package resilient

import (
	"context"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/a-seed-e0941262/resilient/internal/quota"
)

// RateLimitPolicy bounds how much is sent over time, by a token bucket for each client name, authority or endpoint: each
// attempt takes its cost from it, or is refused with [ErrRateLimited], and what is in it flows back continuously. So over
// any time no more than Burst and what has flowed in meanwhile is sent. What an attempt has taken is given back if it was
// not sent after all. The zero policy is off.
//
// A quota of the server that is counted anew every minute lets through as much in one; a bucket that holds as much, and
// begins full, lets through twice that in its first minute. A smaller Burst with a rate that is smaller by as much does not.
type RateLimitPolicy struct {
	// Tokens is how many tokens flow into the bucket in each Per: 1 to 1e12.
	Tokens int

	// Per is the time in which Tokens flow in: 1ms to 24h.
	Per time.Duration

	// Burst is how many tokens the bucket holds: 1 to 1e12. What costs more can never be sent.
	Burst int

	// Wait is how long an attempt may wait for its tokens: 0 to 24h, where 0 is not at all. One that would have to wait
	// for longer, or past the caller's deadline or the total timeout, is refused at once.
	Wait time.Duration

	// PerCall has a call take its cost once, instead of each attempt.
	PerCall bool

	// Cost, if it is not nil, is what an attempt takes; otherwise it takes one token. It is called once a call, and must be
	// safe for concurrent use. It may read the body of the request, of which it is given a copy, as far as one can be had.
	// 0 is nothing, a negative number fails the call. A cost given with [WithCost] goes before it.
	Cost func(*http.Request) int `json:"-"`

	// SettleUsage replaces what an attempt has taken by what its response says that it has used, when the body is read: the
	// tokens in the usage of OpenAI, Azure OpenAI, Anthropic and Gemini, in JSON or in an event stream. If none is found,
	// what was taken stays.
	SettleUsage bool

	// HeedServer lowers what is in the bucket to what a response says that is left, in the rate limit headers of those
	// services.
	HeedServer bool
}

// A RateLimitOption changes one setting of a [RateLimitPolicy].
type RateLimitOption interface{ rateLimit(*draft) }

type rateLimitFunc func(*draft)

func (f rateLimitFunc) rateLimit(d *draft) { f(d) }

// PerSecond lets so many tokens flow into the bucket each second, 1 to 1e12. The bucket holds as many, unless [Burst]
// is given as well. It sets [RateLimitPolicy].Tokens and Per.
func PerSecond(tokens int) RateLimitOption { return flow(tokens, time.Second) }

// PerMinute lets so many tokens flow into the bucket each minute, 1 to 1e12. The bucket holds as many, unless [Burst]
// is given as well. It sets [RateLimitPolicy].Tokens and Per.
func PerMinute(tokens int) RateLimitOption { return flow(tokens, time.Minute) }

func flow(tokens int, per time.Duration) RateLimitOption {
	return rateLimitFunc(func(d *draft) {
		d.RateLimit.Tokens, d.RateLimit.Per = tokens, per
	})
}

// Burst is how many tokens the bucket holds: 1 to 1e12. It sets [RateLimitPolicy].Burst.
func Burst(tokens int) RateLimitOption {
	return rateLimitFunc(func(d *draft) {
		d.RateLimit.Burst = tokens
		d.given |= gaveBurst
	})
}

// Wait is how long an attempt may wait for its tokens: 0 to 24h, where 0 is not at all. It sets [RateLimitPolicy].Wait.
func Wait(most time.Duration) RateLimitOption {
	return rateLimitFunc(func(d *draft) { d.RateLimit.Wait = most })
}

// Cost says how many tokens an attempt takes, by its request; without it that is one. It sets [RateLimitPolicy].Cost,
// and must not be nil.
func Cost(f func(*http.Request) int) RateLimitOption {
	return rateLimitFunc(func(d *draft) {
		if f == nil {
			d.refuseNil("RateLimit(Cost(%s))")
		}
		d.RateLimit.Cost = f
	})
}

const (
	// PerCall has a call take its cost once, instead of each attempt. It sets [RateLimitPolicy].PerCall.
	PerCall rateLimitSwitch = iota + 1

	// SettleUsage replaces what was taken by the usage that the answer tells. It sets [RateLimitPolicy].SettleUsage.
	SettleUsage

	// HeedServer lowers the bucket to what the server says is left. It sets [RateLimitPolicy].HeedServer.
	HeedServer
)

type rateLimitSwitch int

func (s rateLimitSwitch) rateLimit(d *draft) {
	switch s {
	case PerCall:
		d.RateLimit.PerCall = true
	case SettleUsage:
		d.RateLimit.SettleUsage = true
	case HeedServer:
		d.RateLimit.HeedServer = true
	}
}

func (off) rateLimit(d *draft) {
	d.RateLimit = RateLimitPolicy{}
	d.given &^= usesRateLimit | gaveBurst
}

// off reports whether nothing is set. If something is, check sees to it that everything is that must be.
func (p RateLimitPolicy) off() bool {
	return p.Tokens == 0 && p.Per == 0 && p.Burst == 0 && p.Wait == 0 && !p.PerCall && p.Cost == nil && !p.SettleUsage && !p.HeedServer
}

func (d *draft) startRateLimit() { d.given |= usesRateLimit }

// endRateLimit has the bucket hold what flows in over the period, unless the user said what it holds.
func (d *draft) endRateLimit() {
	if !d.given.has(gaveBurst) && d.RateLimit.Tokens != 0 {
		d.RateLimit.Burst = d.RateLimit.Tokens
	}
}

func (d *draft) applyRateLimit(opts []RateLimitOption) {
	d.startRateLimit()
	for _, o := range opts {
		if o == nil {
			d.refuseNil("RateLimit(%s)")
			continue
		}
		o.rateLimit(d)
	}
	d.endRateLimit()
}

// The ranges are those of the gate, but for the shortest Per, below which a clock is too coarse.
const (
	maxTokens = 1_000_000_000_000
	minPer    = time.Millisecond
)

func (d *draft) checkRateLimit() {
	p := d.RateLimit
	if p.off() && !d.given.has(usesRateLimit) {
		return
	}
	if p.Tokens == 0 && p.Per == 0 {
		d.fault(ConfigError{
			Setting: "RateLimit", Rule: "needs a rate, for the quota is yours to know",
			Fix: "give PerSecond or PerMinute, or turn it off with RateLimit(Off)",
		})
		return
	}
	d.checkCount("RateLimit(Tokens(%s))", p.Tokens, 1, maxTokens)
	d.checkDuration("RateLimit(Per(%s))", p.Per, minPer, maxTimeout, "")
	if p.Burst != p.Tokens { // else it has been said
		d.checkCount("RateLimit(Burst(%s))", p.Burst, 1, maxTokens)
	}
	d.checkDuration("RateLimit(Wait(%s))", p.Wait, 0, maxDelay, "")
}

// settings is what clients that share a rate limit must agree on.
func (p RateLimitPolicy) settings() []term {
	return []term{
		{"Tokens", strconv.Itoa(p.Tokens)},
		{"Per", short(p.Per)},
		{"Burst", strconv.Itoa(p.Burst)},
	}
}

// rate is what flows in, as the gate takes it.
func (p RateLimitPolicy) rate() gate.Rate { return gate.Rate{Tokens: int64(p.Tokens), Per: p.Per} }

// WithCost returns a context whose calls take that many tokens from the rate limit, an attempt each time: 0 or more. See
// [Settle].
func WithCost(ctx context.Context, tokens int) context.Context {
	return pipeline.WithCost(ctx, int64(tokens))
}

// Settle replaces what the last attempt with a context from [WithCost] has taken from the rate limit by what it has used:
// 0 or more. What is used beyond what was there is owed, and later attempts wait for it. It reports whether there was
// such an attempt.
func Settle(ctx context.Context, tokens int) bool {
	return tokens >= 0 && pipeline.Settle(ctx, int64(tokens))
}

// EstimateTokens is a [Cost] for calls to language models: the characters of the prompt divided by four, rounded up, and
// the longest answer that the request allows, by the JSON of OpenAI, Azure OpenAI, Anthropic and Gemini. Images, audio and
// files count nothing: they have rules of each model's own, so give such requests a cost with [WithCost]. Of JSON in another
// shape all text counts, of what is not JSON all bytes, up to 4 MiB. Four characters a token is about right for English.
func EstimateTokens(r *http.Request) int {
	body := r.Body
	if r.GetBody != nil {
		again, err := r.GetBody()
		if err != nil {
			return 0
		}
		defer again.Close()
		body = again
	}
	if body == nil {
		return 0
	}
	const enough = 4 << 20
	text, _ := io.ReadAll(io.LimitReader(body, enough)) // what can't be read is not sent either
	return int(min(quota.Estimate(r.Header.Get("Content-Type"), text), math.MaxInt))
}
