package gate

import "time"

// Rate is how many tokens flow into a [Bucket], evenly spread over time. 60 a minute and 1 a second are the same flow.
type Rate struct {
	// Tokens is how many flow in per period: 1 to 1e12.
	Tokens int64

	// Per is the period: 1ns to 24h.
	Per time.Duration
}

// Grant is the answer of [Bucket.Take].
type Grant uint8

const (
	// TooSoon: there are not enough tokens, and the wait, by now the earliest time at which there will be, is longer
	// than the caller would wait. Others may come first.
	TooSoon Grant = iota
	// TooLarge: the bucket never holds that many tokens, so that waiting does not help.
	TooLarge
	// Granted: the tokens are the caller's, now or after the wait.
	Granted
)

// BucketState is what a [Bucket] holds at one moment.
type BucketState struct {
	// Available is the number of tokens, rounded down. Below zero it is what others wait for already, or what was used
	// beyond what was taken.
	Available int64

	// Burst is how many the bucket holds when it is full.
	Burst int64

	// Rate is what flows in.
	Rate Rate

	// NextIn is how long one more token would have to be waited for; zero if there is one. It is at most 292 years.
	NextIn time.Duration
}
