package resilient

import (
	"slices"
	"strconv"
	"time"
)

// Config is the whole configuration of a client, as a value: it can be written by hand, printed, compared field by field,
// and read from and written to JSON (see [Config.MarshalJSON]; functions are left out there). A policy that is zero is
// off. One that is filled in half is an error that names what is missing: nothing is guessed, so a Config means what it
// says.
//
// [Preset.Config] and [Builder.Config] return one. To build from one, give it to [Builder.Defaults].
type Config struct {
	// Timeout bounds how long the call, each attempt, and a body that stands still may take.
	Timeout TimeoutPolicy

	// Concurrency bounds how many calls run at once.
	Concurrency ConcurrencyPolicy

	// Retry repeats attempts whose failure may pass.
	Retry RetryPolicy

	// Budget bounds retries to a share of the calls.
	Budget BudgetPolicy

	// RateLimit bounds how much is sent over time.
	RateLimit RateLimitPolicy

	// Endpoints spreads attempts over several places.
	Endpoints EndpointPolicy

	// Breaker refuses attempts to a dependency that fails too often.
	Breaker BreakerPolicy

	// Idempotency says how retries treat a request that may do harm when it is processed twice.
	Idempotency IdempotencyPolicy

	// PerAuthority keeps concurrency limit, budget, rate limit and breaker for each authority (scheme, host and port) by itself,
	// instead of one for all that the client calls.
	PerAuthority bool

	// RejectAsResponse makes a call that is refused by a gate end with a response of the client's own, status 429 or 503,
	// instead of a [RejectedError]: for SDKs that understand one, and its Retry-After, better than an error.
	RejectAsResponse bool
}

// Config returns a copy of c that shares nothing with it. It makes a Config a [Configurer].
func (c Config) Config() Config {
	c.Retry.Methods = slices.Clone(c.Retry.Methods)
	c.Retry.ExceptMethods = slices.Clone(c.Retry.ExceptMethods)
	c.Endpoints = c.Endpoints.clone()
	c.Idempotency.AmbiguousStatuses = slices.Clone(c.Idempotency.AmbiguousStatuses)
	return c
}

// A Configurer is what [Builder.Defaults] starts from: a [Preset], a [Config], or another [Builder].
type Configurer interface{ Config() Config }

// A Preset is a configuration with a name. Its values are frozen: what it means does not change from one version of this
// package to the next. There are [None], [Standard], [Conservative] and [AI].
type Preset int

// None has every strategy off.
const None Preset = 1

// Standard is for calls that may be made again: retries, a circuit breaker, a concurrency limit and timeouts. It is what
// [New] starts from.
const Standard Preset = 2

// Conservative is for calls that had better not be made too often: one retry, within a budget, and none of a request
// that is not idempotent and may have been processed.
const Conservative Preset = 3

// AI is for slow and expensive calls under a quota: long timeouts, and patient retries within a budget, which come when
// the server says.
const AI Preset = 4

// String returns the name of the constant.
func (p Preset) String() string {
	switch p {
	case None:
		return "None"
	case Standard:
		return "Standard"
	case Conservative:
		return "Conservative"
	case AI:
		return "AI"
	default:
		return "Preset(" + strconv.Itoa(int(p)) + ")"
	}
}

func (p Preset) exists() bool { return p >= None && p <= AI }

// Config returns the preset's values: a copy, free to be changed. It is the zero Config if there is no such preset.
func (p Preset) Config() Config {
	switch p {
	case Standard:
		return standard()
	case Conservative:
		return conservative()
	case AI:
		return ai()
	default:
		return Config{}
	}
}

// standard has the values of the standard resilience handler in .NET's Microsoft.Extensions.Http.Resilience, but for what
// is noted.
func standard() Config {
	return Config{
		Timeout: TimeoutPolicy{
			Total:      30 * time.Second,
			PerAttempt: 10 * time.Second,
		},
		Concurrency: ConcurrencyPolicy{
			Permits: 1000,
			Queue:   0,
		},
		Retry: RetryPolicy{
			MaxRetries:    3,
			BackoffBase:   2 * time.Second,
			BackoffCap:    0,
			Jitter:        Decorrelated,
			RetryAfter:    true,
			MaxRetryAfter: 0,
			BufferLimit:   64 << 10, // not .NET's, which buffers nothing: it holds most bodies, and is what a socket takes
		},
		Breaker: BreakerPolicy{
			FailureRatio:      0.1,
			MinimumThroughput: 100,
			SamplingDuration:  30 * time.Second,
			BreakDuration:     5 * time.Second,
		},
	}
}

// conservative is the proposal for a retry budget in dotnet/extensions#7686: as standard, but for the following.
func conservative() Config {
	c := standard()
	c.Retry.MaxRetries = 1
	c.Budget = BudgetPolicy{
		RetryRatio:        0.1,
		SamplingDuration:  30 * time.Second,
		MinimumThroughput: 100,
	}
	c.Breaker.FailureRatio = 0.5
	c.Idempotency.UnprocessedOnly = true
	return c
}

// ai starts from what is recommended for clients of language models, and makes it fit together: answers take a minute,
// volumes are small, and a refusal says when to come back.
func ai() Config {
	c := standard()
	c.Timeout = TimeoutPolicy{
		Total:      180 * time.Second,
		PerAttempt: 60 * time.Second,
		BodyIdle:   60 * time.Second, // answers are streamed, for longer than any total
	}
	c.Retry.MaxRetries = 5
	c.Retry.BackoffCap = 30 * time.Second
	c.Retry.MaxRetryAfter = 60 * time.Second // as the SDKs for these services do
	c.Retry.ReadCauses = true                // a spent account answers 429, too
	c.Budget = BudgetPolicy{
		RetryRatio:        0.2,
		SamplingDuration:  120 * time.Second,
		MinimumThroughput: 10, // at their volume, 100 would never be reached
	}
	c.Breaker = BreakerPolicy{
		FailureRatio:         0.7,
		MinimumThroughput:    10,
		SamplingDuration:     120 * time.Second, // twice the attempt timeout
		BreakDuration:        15 * time.Second,
		BreakUntilRetryAfter: true,
	}
	return c
}

// What is read of a response that nobody will see, so that its connection can be used again. It is what arrives soon: to
// wait for more would cost more than a new connection does.
const (
	discardBytes = 64 << 10
	discardTime  = 100 * time.Millisecond
)

// maxAuthorities bounds how many authorities a client name keeps state for, with PerAuthority. The state of one takes some
// 2 KiB, most of it windows, so all of them take 2 MiB. Few programs but crawlers call more than a thousand hosts within
// the length of a window; theirs lose what is known about the hosts that they left longest ago.
const maxAuthorities = 1024
