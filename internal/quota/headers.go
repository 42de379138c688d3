package quota

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits is what the headers of an answer tell of a quota. OpenAI and Anthropic send it with each answer.
type Limits struct {
	Requests, Tokens Allowance
}

// An Allowance is one of the limits that a provider counts. What is not told is zero, and its Has is false.
type Allowance struct {
	// Limit is how much the limit allows in its period, at least 1. Azure OpenAI lowers it for hours after too steep a
	// rise, below what was bought.
	Limit int64
	// Remaining is what is left of it, 0 or more. 0 is told only beside a Reset: without one it means nothing, as with
	// -1 (openai/openai-dotnet#838).
	Remaining int64
	// Reset is the time until all of it is back, never 0: for OpenAI's and Anthropic's continuous refill, an upper bound
	// of the wait for the next request.
	Reset time.Duration

	HasLimit, HasRemaining, HasReset bool
}

// ReadLimits reads the headers of OpenAI and Azure OpenAI (x-ratelimit-remaining-tokens and its like, also spelled
// x-rate-limit-), of Anthropic (anthropic-ratelimit-tokens-remaining), and of GitHub (x-ratelimit-remaining), at the
// time now. If several limits count the same, as Anthropic's of all, input, and output tokens do, the tightest is told.
//
// A time of reset is a Go duration (OpenAI: 6m0s), seconds (Azure: 55), a date (Anthropic: RFC 3339), or seconds since
// 1970 (GitHub).
func ReadLimits(h http.Header, now time.Time) Limits {
	var l Limits
	for _, n := range headers() {
		of := &l.Requests
		if n.tokens {
			of = &l.Tokens
		}
		if a := n.read(h, now); tighter(a, *of) {
			*of = a
		}
	}
	return l
}

// Wait is how long a refused request has to wait for a limit that is used up: until the reset of whichever has 0
// remaining, the latest of them; else, as Azure once sent with 429s (openai/openai-python#937), until a reset that came
// without a word on what remains. It is never 0. Ask for it only about a refusal, and after retry-after-ms,
// x-ms-retry-after-ms and retry-after, which say what to wait, and not until when everything is back.
func Wait(h http.Header, now time.Time) (time.Duration, bool) {
	var used, untold time.Duration
	for _, n := range headers() {
		switch a := n.read(h, now); {
		case a.HasRemaining && a.Remaining == 0:
			used = max(used, a.Reset)
		case !a.HasRemaining && a.HasReset:
			untold = max(untold, a.Reset)
		}
	}
	if used == 0 {
		used = untold
	}
	return used, used > 0
}

// ShouldRetry is the server's own word on whether the request is worth a retry, x-should-retry, and whether it gave
// one. OpenAI's and Anthropic's clients put it above the status.
func ShouldRetry(h http.Header) (retry, said bool) {
	switch h.Get("X-Should-Retry") {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// names are the headers of one limit.
type names struct {
	limit, remaining, reset string
	tokens                  bool
}

func headers() [7]names {
	return [...]names{
		{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", false},
		{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", true},
		{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining",
			"Anthropic-Ratelimit-Requests-Reset", false},
		{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining",
			"Anthropic-Ratelimit-Tokens-Reset", true},
		{"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining",
			"Anthropic-Ratelimit-Input-Tokens-Reset", true},
		{"Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining",
			"Anthropic-Ratelimit-Output-Tokens-Reset", true},
		{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", false}, // GitHub
	}
}

func (n names) read(h http.Header, now time.Time) Allowance {
	var a Allowance
	a.Limit, a.HasLimit = number(get(h, n.limit))
	a.Remaining, a.HasRemaining = number(get(h, n.remaining))
	a.Reset, a.HasReset = reset(get(h, n.reset), now)
	if a.Limit == 0 {
		a.HasLimit = false
	}
	if a.Remaining == 0 && !a.HasReset {
		a.HasRemaining = false
	}
	return a
}

// get also finds the spelling that Azure once used, for one header or for all.
func get(h http.Header, name string) string {
	if v := h.Get(name); v != "" {
		return v
	}
	if rest, ok := strings.CutPrefix(name, "X-Ratelimit-"); ok && len(h) > 0 {
		return h.Get("X-Rate-Limit-" + rest)
	}
	return ""
}

func number(v string) (int64, bool) { return count([]byte(v)) }

// tighter reports that a says more than b: that less remains, or at all what remains.
func tighter(a, b Allowance) bool {
	switch {
	case a.HasRemaining != b.HasRemaining:
		return a.HasRemaining
	case a.Remaining != b.Remaining:
		return a.Remaining < b.Remaining
	case a.Reset != b.Reset:
		return a.Reset > b.Reset
	}
	return a.HasLimit && !b.HasLimit
}

// epoch is where a number of seconds turns from a span, then of 31 years, into a date, of 2001.
const epoch = 1_000_000_000

// reset reads a time of reset in any of its forms. What has passed, and what is zero, is not told.
func reset(v string, now time.Time) (time.Duration, bool) {
	d, err := time.ParseDuration(v)
	if err != nil {
		d = 0
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			d = at.Sub(now)
		} else if s, err := strconv.ParseFloat(v, 64); err == nil {
			d = seconds(s, now)
		}
	}
	return max(0, d), d > 0
}

// seconds is a span, or the time until a date.
func seconds(s float64, now time.Time) time.Duration {
	switch {
	case s >= epoch && s < 1000*epoch:
		return time.Unix(int64(s), 0).Sub(now)
	case s > 0 && s < epoch:
		return time.Duration(s * float64(time.Second))
	}
	return 0
}
