package quota

import (
	"bytes"
	"net/http"
	"time"
)

// Head is how many bytes of an error's body [Classify] and [RetryInfo] look at. The longest bodies that say something,
// Gemini's and those of Azure's content filter, have under 3 KiB.
const Head = 8 << 10

// day is a wait that nobody means to be waited for: Azure's "retry after 86400 seconds" is the answer to a request that
// is larger than the whole quota (Azure/azure-sdk-for-java#42696).
const day = 24 * time.Hour

// Classify tells what an answer means, by its status, its headers and the first bytes of its body, at most [Head] of
// them. The body may be cut off anywhere, missing, or not JSON: then the status decides. In a body, an identifier counts
// wherever it stands, for each provider and gateway wraps its errors in its own way, but only as the value of a member
// that holds identifiers; prose is looked at only where a provider has no other sign.
//
// The server's own word on a retry, [ShouldRetry], is not part of it, and goes above it.
func Classify(status int, h http.Header, body []byte) Cause {
	if status < http.StatusBadRequest {
		return None
	}
	body = body[:min(len(body), Head)]
	cause := None
	for name, value := range members(body) {
		if c := identified(name, value); c != None && (cause == None || c < cause) {
			cause = c
		}
	}
	if cause == None {
		cause = byStatus(status, h)
	}
	return byProse(cause, h, body)
}

func byStatus(status int, h http.Header) Cause {
	switch status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return Denied
	case http.StatusPaymentRequired:
		return Money
	case http.StatusForbidden:
		if throttled(h) {
			return Rate
		}
		return Denied
	case http.StatusRequestTimeout:
		return Timeout
	case http.StatusConflict:
		return Conflict
	case http.StatusRequestEntityTooLarge:
		return Impossible
	case http.StatusTooManyRequests:
		return Rate
	case http.StatusServiceUnavailable, 529:
		return Overloaded
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return Invalid
	}
	if status < http.StatusInternalServerError {
		return Invalid
	}
	return Server
}

// throttled reports a 403 that is a 429: GitHub's, and that of the token quota of Azure API Management.
func throttled(h http.Header) bool {
	return h.Get("Retry-After") != "" || h.Get("Retry-After-Ms") != "" || h.Get("X-Ratelimit-Remaining") == "0"
}

// identified knows the identifiers that mean more than the status they come with.
func identified(name, value []byte) Cause {
	switch string(name) {
	case "code", "type", "status", "reason", "error_code":
	case "quotaId", "quota_limit": // Google's QuotaFailure and ErrorInfo
		if bytes.Contains(value, []byte("PerDay")) {
			return Impossible
		}
		return None
	default:
		return None
	}
	switch string(value) {
	case "insufficient_quota", "credit_balance_exhausted", "project_spend_limit_exceeded",
		"organization_spend_limit_exceeded", "organization_usage_limit_exceeded", // OpenAI
		"billing_not_active", "billing_hard_limit_reached", // OpenAI, of old
		"enforced_spend_limit_reached", "billing_error": // Anthropic
		return Money
	case "request_too_large": // Anthropic
		return Impossible
	case "content_filter", "ResponsibleAIPolicyViolation", // Azure
		"content_policy_violation": // OpenAI's images
		return ContentFilter
	case "API_KEY_INVALID": // Gemini, with a 400
		return Denied
	case "slow_down", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED":
		return Rate
	case "server_is_overloaded", "overloaded_error":
		return Overloaded
	}
	return None
}

// byProse is the one place where the text of an error decides.
func byProse(c Cause, h http.Header, body []byte) Cause {
	switch c {
	case Rate:
		if bytes.Contains(body, []byte("Request too large")) || daylong(h, body) {
			return Impossible
		}
	case Invalid:
		if bytes.Contains(body, []byte("credit balance is too low")) { // Anthropic
			return Money
		}
	}
	return c
}

// daylong reports a wait of a day or more, in the header or in Azure's words.
func daylong(h http.Header, body []byte) bool {
	if s, _ := number(h.Get("Retry-After")); s >= int64(day/time.Second) {
		return true
	}
	if ms, _ := number(h.Get("Retry-After-Ms")); ms >= day.Milliseconds() {
		return true
	}
	_, after, _ := bytes.Cut(body, []byte("retry after "))
	digits, _, _ := bytes.Cut(after, []byte(" "))
	s, _ := count(digits)
	return s >= int64(day/time.Second)
}

// RetryInfo is the wait that Gemini asks for. It sends no header for it, but a retryDelay in the body of its 429, such
// as "45.837906927s" (google.rpc.RetryInfo). It is never negative.
func RetryInfo(body []byte) (time.Duration, bool) {
	for name, value := range members(body[:min(len(body), Head)]) {
		if string(name) != "retryDelay" {
			continue
		}
		d, err := time.ParseDuration(string(value))
		return max(0, d), err == nil && d >= 0
	}
	return 0, false
}
