package resilient

import (
	"cmp"
	"slices"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// denials is about retries that were not made in the last minute, the most frequent reason first. What another finding is
// about already is left out.
func (s *situation) denials() []finding {
	var found []finding
	for _, i := range byCount(s.minute.Denied[:]) {
		reason := pipeline.Reason(i)
		if s.explained(reason) {
			continue
		}
		found = append(found, s.denial(reason, s.minute.Denied[i]))
	}
	return found
}

func (s *situation) denial(r pipeline.Reason, n uint32) finding {
	why, advice := whyDenied(r, s.retries)
	f := finding{
		Level: watch, Reason: r.String(), Verdict: "No retries", Advice: advice,
		Because: count(n, "retry was", "retries were") + " not made in the last minute: " + why + ".",
	}
	switch {
	case r == pipeline.ReasonAttempts:
		f.Verdict = "Retries do not help"
		f.Because = count(n, "call", "calls") + " in the last minute failed though " + count(s.retries, "retry was", "retries were") + " made."
	case s.minute.Retries > 0:
		f.Verdict = "Not every retry is made"
	}
	return f
}

// byCount returns the indexes of what is not zero, the largest first.
func byCount(counts []uint32) []int {
	var order []int
	for i, n := range counts {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	return order
}

// explained reports that a denial goes back to what holds now, which is said elsewhere.
func (s *situation) explained(r pipeline.Reason) bool {
	switch r {
	case reasonBudget:
		return len(s.exhausted()) > 0
	case pipeline.ReasonCircuitOpen:
		return len(s.isolated()) > 0 || len(s.open()) > 0 || len(s.halfOpen()) > 0
	case pipeline.ReasonRate:
		return len(s.dry()) > 0
	default:
		return false
	}
}

// reasonBudget is the one that this is all about.
const reasonBudget = pipeline.ReasonBudget

// rejections is about calls that were turned away in the last minute, by a gate that lets calls through again.
func (s *situation) rejections() []finding {
	var found []finding
	for _, i := range byCount(s.minute.Rejected[:]) {
		g := pipeline.Gate(i)
		if s.shut(g) {
			continue
		}
		why, advice := whyRejected(g)
		found = append(found, finding{
			Level: watch, Reason: "rejected_" + g.String(), Verdict: "Some calls were refused",
			Because: count(s.minute.Rejected[i], "call or attempt was", "calls or attempts were") + " turned away in the last minute: " + why + ".",
			Next:    "That is over at this moment.",
			Advice:  advice,
		})
	}
	return found
}

// shut reports that a gate lets nothing through now, which is said elsewhere.
func (s *situation) shut(g pipeline.Gate) bool {
	switch g {
	case pipeline.GateConcurrency:
		return len(s.full()) > 0
	case pipeline.GateEndpoints:
		return len(s.isolated()) > 0 || len(s.without()) > 0
	case pipeline.GateRate:
		return len(s.dry()) > 0
	default:
		return len(s.isolated()) > 0 || len(s.open()) > 0 || len(s.halfOpen()) > 0
	}
}

// cut is about calls that ended before a retry could be thought of.
func (s *situation) cut() []finding {
	var found []finding
	if n := s.minute.TimedOut; n > 0 {
		found = append(found, finding{
			Level: watch, Reason: "total_timeout", Verdict: "No time for a retry",
			Because: count(n, "call", "calls") + " of " + figure(s.minute.Calls) + " in the last minute ran into the total timeout (" + spell(s.total) +
				").",
			Next:   "It ends the attempt that is under way, and there is none after it.",
			Advice: "One attempt may take so long that none can follow: make Timeout(PerAttempt) shorter, or Timeout(Total) longer.",
		})
	}
	if n := s.minute.Left; n > 0 {
		found = append(found, finding{
			Level: s.leaving(), Reason: "canceled", Verdict: "Not for those who have left",
			Because: count(n, "call", "calls") + " of " + figure(s.minute.Calls) +
				" in the last minute ended since the caller's context was canceled or its deadline had passed.",
			Next:   "Nobody waits for a retry then, so there is none.",
			Advice: "If callers give up too early, their deadlines are too short for how long the dependency takes.",
		})
	}
	return found
}

// leaving is how much it matters that callers leave: some always do.
func (s *situation) leaving() level {
	const some = 0.1
	if float64(s.minute.Left) > some*float64(s.minute.Calls) {
		return watch
	}
	return fine
}

// unwanted is about failures that the client's own RetryIf does not want repeated.
func (s *situation) unwanted() []finding {
	m := &s.minute
	if !s.choosy || m.Failed == 0 || m.Retries > 0 || m.AllDenied() > 0 {
		return nil
	}
	return []finding{{
		Level: watch, Reason: "retry_if", Verdict: "No retries",
		Because: "the client's own RetryIf asks for none, though " + count(m.Failed, "attempt", "attempts") +
			" in the last minute failed in a way that the standard rule would retry.",
		Advice: "Look at the function that the client was built with.",
	}}
}

// flow is what the calls do as a whole.
func (s *situation) flow() finding {
	m := &s.minute
	f := finding{Level: fine, Verdict: "Nothing to retry", Next: s.would()}
	switch attempts := count(m.Attempts, "attempt", "attempts") + " in the last minute"; {
	case m.Retries > 0:
		f.Reason, f.Verdict, f.Next = "retrying", "Retrying", s.left()
		f.Because = count(m.Retries, "retry", "retries") + " in the last minute, in which " + count(m.Calls, "call", "calls") + " ended."
	case m.Attempts == 0 && m.Calls == 0:
		f.Level, f.Reason, f.Because = idle, "idle", "there was no call in the last minute."
	case m.Failed > 0:
		f.Level, f.Reason, f.Verdict = watch, "failing", "No retries"
		f.Because = figure(m.Failed) + " of " + attempts + " failed."
	case m.Permanent > 0:
		f.Reason = "permanent"
		f.Because = figure(m.Permanent) + " of " + attempts + " ended in a way that no retry mends, such as status 404 or a bad certificate."
	default:
		f.Reason, f.Because = "healthy", "no attempt failed in the last minute, of "+figure(m.Attempts)+"."
	}
	return f
}

// would is what becomes of an attempt that fails.
func (s *situation) would() string {
	switch {
	case s.clients == 0:
		return "No client of this name is in use any more."
	case s.retrying == 0:
		return "One that fails is not repeated."
	}
	return "One that fails is repeated up to " + count(s.retries, "time", "times") + ". " + s.left()
}

// left is what the budget has left.
func (s *situation) left() string {
	b := s.Budget
	switch {
	case b == nil:
		return "No budget bounds retries: in an outage each call may make them all. Budget(RetryRatio(0.1)) keeps them to a tenth of the calls."
	case b.Phase == "below_minimum":
		return "The budget is not in force: there were fewer than " + count(s.budget.MinimumThroughput, "call", "calls") + " in the last " +
			spell(s.budget.SamplingDuration) + "."
	case b.Phase == "exhausted":
		return "The budget is exhausted now."
	default:
		return "The budget allows " + figure(b.Allowance-b.Retries) + " more at the moment."
	}
}
