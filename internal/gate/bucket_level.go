package gate

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

const (
	// maxTokens bounds a rate's tokens and a burst.
	maxTokens = 1_000_000_000_000

	// maxPer bounds a rate's period: limits per day exist.
	maxPer = 24 * time.Hour

	// maxDebt is how far below zero a level may be: a million of the largest bursts, and far from overflow.
	maxDebt = 1_000_000_000_000_000_000

	// forever is a wait that a Duration cannot express, 292 years or more.
	forever time.Duration = math.MaxInt64
)

// mustFlow panics unless rate and burst are in the ranges that the arithmetic of level is proved for.
func mustFlow(r Rate, burst int64) {
	if r.Tokens < 1 || r.Tokens > maxTokens || r.Per < 1 || r.Per > maxPer || burst < 1 || burst > maxTokens {
		//nolint:forbidigo // validated where they have names
		panic(fmt.Sprintf("gate: a bucket needs 1 to 1000000000000 tokens per 1ns to 24h0m0s and a burst of as many, "+
			"got %d per %s and %d", r.Tokens, r.Per, burst))
	}
}

// level is a number of tokens, exact and possibly negative: the whole ones, rounded down, and on top of them a part of
// one in units of 1/Per, the period in nanoseconds. In these units a token is Per and a nanosecond brings Tokens of them:
// two integers, so refilling in many steps or in one comes to the same.
//
// Whole is from -maxDebt to the burst, parts from 0 to below Per. Products have 128 bits and stay below 2^107, for the
// largest are maxTokens times a Duration (2^40 × 2^63) and (maxDebt + maxTokens) times maxPer (2^60 × 2^47).
type level struct {
	whole int64
	parts uint64
}

// after returns the level when so much time has passed, more than zero: higher, but at most burst.
func (l level) after(elapsed time.Duration, r Rate, burst int64) level {
	per, room := uint64(r.Per), uint64(burst-l.whole)
	high, low := bits.Mul64(uint64(elapsed), uint64(r.Tokens))
	low, carry := bits.Add64(low, l.parts, 0)
	high += carry
	if high >= per { // 2^64 tokens or more, which is more than fits in
		return level{whole: burst}
	}
	tokens, parts := bits.Div64(high, low, per)
	if tokens >= room {
		return level{whole: burst}
	}
	return level{whole: l.whole + int64(tokens), parts: parts}
}

// wait returns how long it takes until there are n tokens, 1 to maxTokens: the first nanosecond at which there are. It
// is forever if a Duration cannot tell, or if taking them now would be a debt of more than maxDebt.
func (l level) wait(n int64, r Rate) time.Duration {
	missing := n - l.whole
	if missing <= 0 {
		return 0
	}
	if missing > maxDebt {
		return forever
	}
	flow := uint64(r.Tokens)
	high, low := bits.Mul64(uint64(missing), uint64(r.Per))
	low, borrow := bits.Sub64(low, l.parts, 0) // above zero: parts are less than one token
	high -= borrow
	if high >= flow {
		return forever
	}
	wait, rest := bits.Div64(high, low, flow)
	if wait >= uint64(forever) {
		return forever
	}
	if rest > 0 {
		wait++
	}
	return time.Duration(wait)
}

// plus returns the level with n more tokens, zero or more, but at most burst.
func (l level) plus(n, burst int64) level {
	if n >= burst-l.whole { // rather than a sum, which could overflow
		return level{whole: burst}
	}
	return level{whole: l.whole + n, parts: l.parts}
}

// minus returns the level with n tokens less, zero or more, but not below -maxDebt.
func (l level) minus(n int64) level {
	if n > l.whole+maxDebt { // rather than a difference, which could overflow
		return level{whole: -maxDebt}
	}
	return level{whole: l.whole - n, parts: l.parts}
}

// atMost returns the level, or n whole tokens if it is above.
func (l level) atMost(n int64) level {
	if l.whole >= n {
		return level{whole: n}
	}
	return l
}

// convert returns the level in units of another rate, rounded down. Both periods are below 2^47, so the quotient, less
// than the new one, fits.
func (l level) convert(from, to Rate) level {
	high, low := bits.Mul64(l.parts, uint64(to.Per))
	parts, _ := bits.Div64(high, low, uint64(from.Per))
	return level{whole: l.whole, parts: parts}
}
