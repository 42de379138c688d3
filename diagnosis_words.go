package resilient

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/history"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// whyDenied says what the reason of a [RetryDenied] means, and what to do about it. A client makes so many retries a call
// at most.
func whyDenied(r pipeline.Reason, retries int) (why, advice string) {
	switch r {
	case pipeline.ReasonFinal:
		return "the answer says that no wait mends it, such as a spent account or a request larger than its quota",
			"Read the body of the answer: it is the account or the request that has to be changed."
	case pipeline.ReasonNested:
		return "a client around this one repeats the call, and both would multiply",
			"Nothing. Look at the outer client."
	case pipeline.ReasonDisabled:
		return "the caller wanted none (WithoutRetries)",
			"Nothing here. Look at where the caller makes its context."
	case pipeline.ReasonAttempts:
		return "the call had made all it may (" + figure(retries) + "), and failed still",
			"The failure lasts for longer than the retries take, so look at the dependency."
	case pipeline.ReasonMethod:
		return "requests with this method are not to be repeated (RetryMethods, ExceptMethods or SafeMethodsOnly)",
			"Nothing, if that is meant. Else change what the client was built with."
	case pipeline.ReasonAmbiguous:
		return "the server may have processed the request, and to send it again could do it twice",
			"Have the requests carry an Idempotency-Key, if the server heeds it (Idempotency(GenerateKeys)), or mark the calls with Replayable. " +
				"Else callers have to find out whether it was done."
	case pipeline.ReasonBody:
		return "the body of the request cannot be sent again",
			"Give requests a GetBody, or raise Retry(BufferLimit)."
	case pipeline.ReasonRetryAfter:
		return "the server asked for a longer wait than is accepted",
			"Come back later, or raise Retry(MaxRetryAfter)."
	case pipeline.ReasonDeadline:
		return "the wait before it did not fit into the time that was left",
			"As a rule the backoff is longer than the total timeout leaves room for: shorten Retry(Backoff), or raise Timeout(Total). " +
				"If callers have deadlines of their own, those may be what is too short."
	case pipeline.ReasonCircuitOpen:
		return "the circuit breaker would have refused it",
			"Look at the dependency. The circuit closes by itself when it works again."
	case pipeline.ReasonRate:
		return "the rate limit would not have had tokens for it in time",
			"There are more calls than the quota allows: make fewer, or ask for a larger one."
	default:
		return "the budget was exhausted",
			"Find out why so many attempts fail, and mend that."
	}
}

// whyRejected says what the gate of a [Rejected] or an [EndpointSkipped] means, and what to do about it.
func whyRejected(g pipeline.Gate) (why, advice string) {
	switch g {
	case pipeline.GateConcurrency:
		return "all permits were in use and the queue was full", adviceFull
	case pipeline.GateEndpoints:
		return "no endpoint was available", "Look at the endpoints, and at why each was passed over."
	case pipeline.GateThrottle:
		return "the endpoint has asked to be left alone", "Nothing: it is used again when that time is over."
	case pipeline.GateRate:
		return "the rate limit had no tokens left",
			"There are more calls than the quota allows: make fewer, or ask for a larger one and give it to RateLimit."
	default:
		return "the circuit breaker was open", "Look at the dependency. The circuit closes by itself when it works again."
	}
}

// what says what was refused.
func what(k history.Kind) string {
	return [...]string{"Retry denied", "Rejected", "Endpoint skipped"}[k]
}

// count is a whole number of any type, and what it is a number of.
func count(n any, one, many string) string {
	f := figure(n)
	if f == "1" {
		return f + " " + one
	}
	return f + " " + many
}

// figure is a whole number of any type, with its thousands apart.
func figure(n any) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// percent is a ratio in words.
func percent(ratio float64) string {
	return strconv.FormatFloat(ratio*100, 'g', 4, 64) + " %"
}

// opened is what an endpoint's breaker, or the state's own for "", was opened for.
func (s *situation) opened(endpoint string) string {
	c := s.lastOpened(endpoint)
	if c.Requests == 0 {
		return "too many attempts failed"
	}
	return figure(c.Failures) + " of " + count(c.Requests, "attempt", "attempts") + " in " + spell(s.breaker.SamplingDuration) + " failed"
}

// spell is a duration in words, to one digit below ten seconds.
func spell(d time.Duration) string {
	n := func(x float64, digits int, unit string) string { return strconv.FormatFloat(x, 'f', digits, 64) + unit }
	switch s := d.Seconds(); {
	case d <= 0:
		return "0 s"
	case s < 1:
		return n(max(s*1000, 1), 0, " ms")
	case s < 9.95 && d%time.Second != 0:
		return n(s, 1, " s")
	case s < 120:
		return n(s, 0, " s")
	case s < 120*60:
		return n(s/60, 0, " min")
	default:
		return n(s/3600, 0, " h")
	}
}

// settings are what the gates were set to, in words.
func (s *situation) settings() (v settingsView) {
	switch {
	case s.clients == 0:
		v.Retry = "no client of this name is in use any more"
	case s.retrying == 0:
		v.Retry = "off"
	default:
		v.Retry = "up to " + figure(s.retries) + " a call"
		if s.retrying < s.clients {
			v.Retry += "; off in " + figure(s.clients-s.retrying) + " of " + figure(s.clients) + " clients"
		}
	}
	if b := s.budget; !b.off() {
		v.Budget = percent(b.RetryRatio) + " of the calls of the last " + spell(b.SamplingDuration)
		if b.LowVolumeRetries > 0 {
			v.Budget += ", or " + figure(b.LowVolumeRetries) + " if that is more"
		} else {
			v.Budget += ", from " + count(b.MinimumThroughput, "call", "calls") + " on"
		}
		if b.Name != "" {
			v.Budget += "; shared by all that draw on " + quote(b.Name)
		}
	}
	if b := s.breaker; !b.off() {
		v.Breaker = "opens for " + spell(b.BreakDuration) + " when " + percent(b.FailureRatio) + " of at least " +
			count(b.MinimumThroughput, "attempt", "attempts") + " in " + spell(b.SamplingDuration) + " have failed"
	}
	if s.Concurrency != nil {
		v.Concurrency = count(s.Concurrency.Permits, "permit", "permits") + ", and " + count(s.queue, "place", "places") + " in the queue"
	}
	return v
}
