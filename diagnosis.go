package resilient

import (
	"cmp"
	"slices"
	"strings"
)

// A finding is one thing that can be said about a state, in words for who has never heard of this package.
type finding struct {
	Level   level  `json:"level"`
	Reason  string `json:"reason"`  // one word, which does not change
	Verdict string `json:"verdict"` // "No retries"
	Because string `json:"because"` // a sentence, which goes on after the verdict and a colon
	Next    string `json:"next"`    // what will happen, in sentences; may be empty
	Advice  string `json:"advice"`  // what to do; empty if there is nothing
}

// A level is how much a finding matters.
type level int

const (
	trouble level = iota // calls or retries are refused
	watch                // something is failing, or was refused of late
	fine
	idle // nothing is called
)

// String is trouble, watch, fine or idle.
func (l level) String() string { return [...]string{"trouble", "watch", "fine", "idle"}[l] }

// MarshalText returns what String does.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// diagnose says why the clients of a state are not retrying, or what else they do: one finding at least, what
// matters most first.
func diagnose(s *situation) []finding {
	var found []finding
	for _, check := range [...]func(*situation) []finding{
		(*situation).isolated, (*situation).open, (*situation).halfOpen, (*situation).without, (*situation).exhausted,
		(*situation).full, (*situation).dry, (*situation).off, (*situation).denials, (*situation).rejections,
		(*situation).cut, (*situation).unwanted,
	} {
		found = append(found, check(s)...)
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.Level, b.Level) })
	if len(found) == 0 || found[0].Level > watch && found[0].Reason != "off" {
		found = slices.Insert(found, 0, s.flow())
	}
	return found
}

func (s *situation) isolated() []finding {
	if s.Breaker == nil || s.Breaker.State != "isolated" {
		return nil
	}
	return []finding{{
		Level: trouble, Reason: "isolated", Verdict: "No attempts, no retries",
		Because: "the circuit breaker is held open by hand, until somebody releases it.",
		Advice:  "Ask who has isolated it, and why. Registry.Release lets it go, and so does the button on this page, if it is allowed.",
	}}
}

func (s *situation) open() []finding {
	if s.Breaker == nil || s.Breaker.State != "open" || len(s.Endpoints) > 0 {
		return nil
	}
	return []finding{{
		Level: trouble, Reason: "circuit_open", Verdict: "No attempts, no retries",
		Because: "the circuit breaker is open for " + spell(s.Breaker.RetryAfter) + " more, since " + s.opened("") + ".",
		Next:    "Then one attempt is let through as a probe: if it succeeds, all goes on; if it fails, the circuit stays open.",
		Advice:  "The dependency does not work, or not well: look there. Nothing has to be done here, the circuit closes by itself.",
	}}
}

func (s *situation) halfOpen() []finding {
	if s.Breaker == nil || s.Breaker.State != "half-open" || len(s.Endpoints) > 0 {
		return nil
	}
	because := "the circuit breaker was open, and lets the next attempt through as a probe."
	if s.Breaker.RetryAfter > 0 {
		because = "the circuit breaker was open, and one attempt is on its way as a probe. All others are refused meanwhile."
	}
	return []finding{{
		Level: watch, Reason: "circuit_half_open", Verdict: "One attempt only", Because: because,
		Next:   "If the probe succeeds, the circuit closes and all goes on. If it fails, the circuit is open again.",
		Advice: "Wait for the probe.",
	}}
}

// without is about endpoints that serve nothing.
func (s *situation) without() []finding {
	var out []string
	for _, e := range s.Endpoints {
		if why := s.outOfUse(&e); why != "" {
			out = append(out, e.Endpoint+" ("+why+")")
		}
	}
	switch n := len(s.Endpoints); {
	case len(out) == 0 || s.Breaker != nil && s.Breaker.State == "isolated":
		return nil
	case len(out) == n:
		return []finding{{
			Level: trouble, Reason: "no_endpoint", Verdict: "No attempts, no retries",
			Because: "none of the " + count(n, "endpoint", "endpoints") + " is available: " + strings.Join(out, ", ") + ".",
			Next:    "Each is used again as soon as that is over.",
			Advice:  "Look at the endpoints.",
		}}
	default:
		return []finding{{
			Level: watch, Reason: "endpoint_out", Verdict: "Fewer endpoints",
			Because: figure(len(out)) + " of " + count(n, "endpoint", "endpoints") + " not in use: " + strings.Join(out, ", ") + ".",
			Next:    "The others serve all attempts, the retries among them.",
			Advice:  "Look at what is not in use, and whether the others bear the load.",
		}}
	}
}

// outOfUse is why an endpoint serves nothing; empty if it does.
func (s *situation) outOfUse(e *EndpointSnapshot) string {
	switch {
	case e.Breaker != nil && e.Breaker.State == "isolated":
		return "held open by hand"
	case e.Breaker != nil && e.Breaker.State == "open":
		return "circuit open for " + spell(e.Breaker.RetryAfter) + " more, since " + s.opened(e.Endpoint)
	case e.Throttled > 0:
		return "has asked to be left alone for " + spell(e.Throttled)
	case e.RateLimit != nil && e.RateLimit.Available < 1:
		return "no tokens left in its rate limit"
	}
	return ""
}

func (s *situation) exhausted() []finding {
	if s.Budget == nil || s.Budget.Phase != "exhausted" || s.retrying == 0 {
		return nil
	}
	f := finding{
		Level: watch, Reason: "budget_exhausted", Verdict: "No retries",
		Because: "the budget is exhausted: " + s.spent() + ".",
		Next: "An attempt that fails is not repeated until older retries are more than " + spell(s.budget.SamplingDuration) +
			" ago, or more calls allow more.",
		Advice: "The budget keeps retries from adding load to what fails already. Find out why so many attempts fail, and mend that. " +
			"If that many failures are normal here, give a higher Budget(RetryRatio).",
	}
	if n := s.minute.Denied[reasonBudget]; n > 0 {
		f.Level = trouble
		f.Next = count(n, "retry was", "retries were") + " not made for that in the last minute. " + f.Next
	}
	return []finding{f}
}

// spent is what has used the budget up.
func (s *situation) spent() string {
	b, window := s.Budget, spell(s.budget.SamplingDuration)
	switch {
	case b.Allowance == 0:
		return s.share() + " in the last " + window + " allow no retry"
	case b.Retries > b.Allowance:
		return count(b.Retries, "retry was", "retries were") + " made in the last " + window + ", and " +
			count(b.Allowance, "is", "are") + " allowed (" + s.share() + ")"
	default:
		return figure(b.Retries) + " of " + count(b.Allowance, "retry was", "retries were") + " used in the last " + window + " (" + s.share() + ")"
	}
}

// share is what the allowance comes from.
func (s *situation) share() string {
	if low := s.budget.LowVolumeRetries; low > 0 && s.Budget.Allowance == uint64(low) {
		return "so many are allowed however few calls there are"
	}
	return percent(s.budget.RetryRatio) + " of " + count(s.Budget.Requests, "call", "calls")
}

func (s *situation) full() []finding {
	c := s.Concurrency
	switch {
	case c == nil || c.InUse < c.Permits:
		return nil
	case c.Queued < s.queue:
		return []finding{{
			Level: watch, Reason: "concurrency_queue", Verdict: "Calls wait",
			Because: figure(c.InUse) + " of " + count(c.Permits, "permit is", "permits are") + " in use, and " + count(c.Queued, "call waits", "calls wait") +
				" for one. There is room for " + figure(s.queue) + ".",
			Advice: adviceFull,
		}}
	default:
		room := "and there is no queue"
		if s.queue > 0 {
			room = "and the queue is full (" + figure(s.queue) + ")"
		}
		return []finding{{
			Level: trouble, Reason: "concurrency_limit", Verdict: "Further calls are refused",
			Because: figure(c.InUse) + " of " + count(c.Permits, "permit is", "permits are") + " in use, " + room + ".",
			Advice:  adviceFull,
		}}
	}
}

const adviceFull = "A call keeps its permit until its response's body is closed. Look for a dependency that is slow, and for bodies that nobody closes. " +
	"If neither is so, give more with Concurrency(Permits)."

// dry is about a rate limit without tokens.
func (s *situation) dry() []finding {
	r := s.RateLimit
	if r == nil || r.Available >= 1 || len(s.Endpoints) > 0 {
		return nil
	}
	f := finding{
		Level: trouble, Reason: "rate_limited", Verdict: "Attempts and retries are refused",
		Because: "the rate limit has no tokens left (" + figure(r.Available) + " of " + figure(r.Burst) + ").",
		Next:    "Tokens flow back by themselves.",
		Advice:  "If this lasts, there are more calls than the quota allows: make fewer, or ask for a larger quota and give it to RateLimit.",
	}
	if s.patience > 0 {
		f.Level, f.Verdict = watch, "Attempts and retries wait"
		f.Next = "They wait for up to " + spell(s.patience) + ", and are refused if it would take longer."
	}
	return []finding{f}
}

func (s *situation) off() []finding {
	if s.clients == 0 || s.retrying > 0 {
		return nil
	}
	f := finding{
		Level: fine, Reason: "off", Verdict: "No retries",
		Because: "retries are switched off for this client.",
		Advice:  "To have failed attempts repeated, build the client with Retry(MaxRetries(3)), where 3 is how often a call is repeated at most.",
	}
	switch n := s.minute.Failed; {
	case s.minute.Calls+s.minute.Attempts == 0:
		f.Level = idle
	case n > 0:
		f.Level = watch
		f.Next = count(n, "attempt", "attempts") + " in the last minute failed in a way that a retry might have mended."
	}
	return []finding{f}
}
