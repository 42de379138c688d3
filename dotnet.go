package resilient

import (
	"encoding/json"
	"time"
)

// dotnet is the form of a document in the words of .NET's HttpStandardResilienceOptions, as it stands in a settings file
// there, with the retry budget of dotnet/extensions#7686. What it does not mention is as in any document. Numbers and
// switches may be text, as .NET's own binding takes them.
func dotnet(d *draft) []section {
	b := &dotnetBackoff{}
	gave := func(m marks) func() { return func() { d.given |= m } }
	timeout := func(key string, to *time.Duration, m marks) section {
		return section{key, false, Off.timeout, nil, nil, []setting{{"Timeout", to, gave(m)}, unused("Name")}}
	}
	permits := []setting{
		{"PermitLimit", &d.Concurrency.Permits, nil}, {"QueueLimit", &d.Concurrency.Queue, nil},
		{"QueueProcessingOrder", only("OldestFirst"), nil},
	}
	return []section{
		timeout("TotalRequestTimeout", &d.Timeout.Total, gaveTotal),
		timeout("AttemptTimeout", &d.Timeout.PerAttempt, gaveAttempt),
		{"RateLimiter", false, Off.concurrency, (*draft).startConcurrency, nil, append([]setting{
			{"DefaultRateLimiterOptions", section{"DefaultRateLimiterOptions", false, Off.concurrency, nil, nil, permits}, nil}, unused("Name"),
		}, permits...)},
		{"Retry", false, Off.retry, (*draft).startRetry, b.end, []setting{
			{"MaxRetryAttempts", &d.Retry.MaxRetries, d.gaveMaxRetries},
			{"Delay", &d.Retry.BackoffBase, func() { d.gaveBackoff(gaveBase) }},
			{"MaxDelay", &d.Retry.BackoffCap, func() { d.gaveBackoff(gaveCap) }},
			{"BackoffType", &b.kind, nil}, {"UseJitter", &b.jitter, func() { b.saidJitter = true }},
			{"ShouldRetryAfterHeader", &d.Retry.RetryAfter, nil}, unused("Name"),
			{"RetryBudget", section{"RetryBudget", false, Off.budget, (*draft).startBudget, nil, []setting{
				{"RetryRatio", &d.Budget.RetryRatio, nil}, {"SamplingDuration", &d.Budget.SamplingDuration, nil},
				{"MinimumThroughput", &d.Budget.MinimumThroughput, nil},
			}}, nil},
		}},
		{"CircuitBreaker", false, Off.breaker, (*draft).startBreaker, nil, []setting{
			{"FailureRatio", &d.Breaker.FailureRatio, nil}, {"MinimumThroughput", &d.Breaker.MinimumThroughput, nil},
			{"SamplingDuration", &d.Breaker.SamplingDuration, gave(gaveSampling)},
			{"BreakDuration", &d.Breaker.BreakDuration, nil}, unused("Name"),
		}},
	}
}

// A dotnetBackoff is what two settings say together: exponential with jitter is decorrelated, constant is an exponential
// one that may not grow.
type dotnetBackoff struct {
	kind       string
	jitter     bool
	saidJitter bool
}

func (b *dotnetBackoff) end(d *draft) {
	switch {
	case b.kind == "Linear", b.kind == "Constant" && b.jitter:
		d.fault(ConfigError{
			Setting: "JSON(Retry.BackoffType: " + quote(b.kind) + ")", Rule: "has no counterpart here",
			Fix: "use Exponential, or Constant without UseJitter, or BackoffFunc",
		})
	case b.kind == "Constant":
		d.Retry.BackoffCap, d.Retry.Jitter = d.Retry.BackoffBase, NoJitter
		d.gaveBackoff(gaveCap)
	case b.kind != "" && b.kind != "Exponential":
		d.fault(ConfigError{
			Setting: "JSON(Retry.BackoffType: " + quote(b.kind) + ")", Rule: "must be Exponential or Constant", Fix: "Exponential is the usual one",
		})
	case b.saidJitter && b.jitter:
		d.Retry.Jitter = Decorrelated
	case b.saidJitter:
		d.Retry.Jitter = NoJitter
	}
	d.endRetry()
}

// A decoder reads a value, or says what it ought to be.
type decoder func(raw []byte) (want string, ok bool)

// unused is a setting without a meaning here: a name that only shows in .NET's telemetry.
func unused(key string) setting {
	return setting{key, decoder(func(raw []byte) (string, bool) {
		var s string
		return "a string", value(raw, &s)
	}), nil}
}

// only is a setting that has but one value here.
func only(s string) decoder {
	return func(raw []byte) (string, bool) {
		var got string
		return quote(s), value(raw, &got) && got == s
	}
}

// spelt is a value without the quotes that .NET's binding does not mind around numbers and switches.
func spelt(raw []byte, target any) []byte {
	switch target.(type) {
	case *int, *float64, *bool:
		var text string
		if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
			return []byte(text)
		}
		if text == "True" || text == "False" {
			return []byte(map[string]string{"True": "true", "False": "false"}[text])
		}
	}
	return raw
}
