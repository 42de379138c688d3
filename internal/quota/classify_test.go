package quota_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/quota"
	"github.com/matryer/is"
)

func TestAnswersMeanWhatTheirProvidersSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   quota.Cause
	}{
		// OpenAI
		{"OpenAI, rate", 429, header("Retry-After", "1"), `{"error":{"message":"Rate limit reached for gpt-4o in organization
			org-x on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s.",
			"type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, quota.Rate},
		{"OpenAI, rate of requests, no header", 429, nil, `{"error":{"message":"Rate limit reached for requests",
			"type":"requests","code":"rate_limit_exceeded"}}`, quota.Rate},
		{"OpenAI, too steep", 429, header("Retry-After", "5"), `{"error":{"message":"Slow down","type":"requests",
			"code":"slow_down"}}`, quota.Rate},
		{"OpenAI, too steep, of old", 503, nil, `{"error":{"message":"Slow down","code":"slow_down"}}`, quota.Rate},
		{"OpenAI, quota", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing
			details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, quota.Money},
		{"OpenAI, credit", 429, nil, `{"error":{"type":"insufficient_quota","code":"credit_balance_exhausted"}}`, quota.Money},
		{"OpenAI, project's spend", 429, nil, `{"error":{"code":"project_spend_limit_exceeded"}}`, quota.Money},
		{"OpenAI, organization's spend", 429, nil, `{"error":{"code":"organization_spend_limit_exceeded"}}`, quota.Money},
		{"OpenAI, organization's usage", 429, nil, `{"error":{"code":"organization_usage_limit_exceeded"}}`, quota.Money},
		{"OpenAI, billing", 429, nil, `{"error":{"message":"Your account is not active, please check your billing details on
			our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}`, quota.Money},
		{"OpenAI, billing, images", 400, nil, `{"error":{"code":"billing_hard_limit_reached",
			"message":"Billing hard limit has been reached","type":"invalid_request_error"}}`, quota.Money},
		{"OpenAI, too large", 429, nil, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per
			min (TPM): Limit 30000, Requested 30601.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, quota.Impossible},
		{"OpenAI, overloaded", 503, nil, `{"error":{"message":"The server is overloaded","type":"service_unavailable_error",
			"code":"server_is_overloaded"}}`, quota.Overloaded},
		{"OpenAI, server", 500, nil, `{"error":{"message":"The server had an error","type":"server_error","code":null}}`, quota.Server},
		{"OpenAI, bad request", 400, nil, `{"error":{"message":"Unknown parameter: 'insufficient_quota'.",
			"type":"invalid_request_error","param":"insufficient_quota","code":"unknown_parameter"}}`, quota.Invalid},
		{"OpenAI, context length", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens.",
			"type":"invalid_request_error","code":"context_length_exceeded"}}`, quota.Invalid},
		{"OpenAI, images' policy", 400, nil, `{"error":{"code":"content_policy_violation","message":"Your request was
			rejected as a result of our safety system."}}`, quota.ContentFilter},
		{"OpenAI, key", 401, nil, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error",
			"code":"invalid_api_key"}}`, quota.Denied},
		{"OpenAI, region", 403, nil, `{"error":{"code":"unsupported_country_region_territory","type":"request_forbidden"}}`, quota.Denied},
		{"OpenAI, model", 404, nil, `{"error":{"code":"model_not_found","type":"invalid_request_error"}}`, quota.Invalid},
		{"OpenAI, timeout", 408, nil, "", quota.Timeout},
		{"OpenAI, conflict", 409, nil, `{"error":{"message":"Thread is locked"}}`, quota.Conflict},
		// Azure OpenAI
		{"Azure, rate", 429, header("Retry-After", "45", "Retry-After-Ms", "44120"), `{"error":{"code":"429","message":"Requests
			to the ChatCompletions_Create Operation under Azure OpenAI API version 2023-05-15 have exceeded token rate limit of
			your current OpenAI S0 pricing tier. Please retry after 45 seconds."}}`, quota.Rate},
		{"Azure, peak", 429, nil, `{"error":{"code":"RATE_LIMITED","message":"Your request exceeds the maximum usage size
			allowed during peak load. Please retry after 20 seconds."}}`, quota.Rate},
		{"Azure, larger than the quota", 429, header("Retry-After", "86400"), `{"error":{"code":"429","message":""}}`, quota.Impossible},
		{"Azure, the same in milliseconds", 429, header("Retry-After-Ms", "86400000"), "", quota.Impossible},
		{"Azure, the same in words", 429, nil, `{"error":{"code":"429","message":"have exceeded token rate limit of your current
			AIServices S0 pricing tier. Please retry after 86400 seconds. Please contact Azure support"}}`, quota.Impossible},
		{"Azure, almost a day", 429, header("Retry-After", "86399"), "", quota.Rate},
		{"Azure, content", 400, nil, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's
			content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":
			"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"}}}}}`, quota.ContentFilter},
		{"Azure, content, the inner code only", 400, nil, `{"error":{"code":"400","innererror":{"code":
			"ResponsibleAIPolicyViolation"}}}`, quota.ContentFilter},
		{"Azure, key", 401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`, quota.Denied},
		{"Azure, network", 403, nil, `{"error":{"code":"403","message":"Access denied due to Virtual Network/Firewall rules."}}`, quota.Denied},
		{"Azure, deployment", 404, nil, `{"error":{"code":"DeploymentNotFound"}}`, quota.Invalid},
		{"Azure, capacity", 503, nil, `{"error":{"code":"503","message":"Service unavailable"}}`, quota.Overloaded},
		{"Azure, gateway", 504, nil, `{"error":{"code":"Timeout"}}`, quota.Server},
		{"API Management, rate", 429, header("Retry-After", "8"), `{"statusCode":429,"message":"Token limit is exceeded. Try
			again in 8 seconds."}`, quota.Rate},
		{"API Management, quota", 403, header("Retry-After", "3600"), `{"statusCode":403,"message":"Token quota is exceeded."}`, quota.Rate},
		{"a gateway, quota in milliseconds", 403, header("Retry-After-Ms", "500"), "", quota.Rate},
		{"API Management, a day's quota", 403, header("Retry-After", "90000"), "", quota.Impossible},
		// Anthropic
		{"Anthropic, rate", 429, header("Retry-After", "12"), `{"type":"error","error":{"type":"rate_limit_error","message":"This
			request would exceed the rate limit for your organization of 20,000 input tokens per minute."}}`, quota.Rate},
		{"Anthropic, spend", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"Spend limit reached",
			"details":{"error_code":"enforced_spend_limit_reached"}}}`, quota.Money},
		{"Anthropic, billing", 402, nil, `{"type":"error","error":{"type":"billing_error","message":"..."}}`, quota.Money},
		{"Anthropic, credit", 400, nil, `{"type":"error","error":{"type":"invalid_request_error",
			"message":"Your credit balance is too low to access the Anthropic API."}}`, quota.Money},
		{"Anthropic, large", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"..."}}`, quota.Impossible},
		{"Anthropic, overloaded", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, quota.Overloaded},
		{"Anthropic, overloaded, by a gateway", 500, nil, `{"type":"error","error":{"type":"overloaded_error"}}`, quota.Overloaded},
		{"Anthropic, server", 500, nil, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, quota.Server},
		{"Anthropic, timeout", 504, nil, `{"type":"error","error":{"type":"timeout_error"}}`, quota.Server},
		{"Anthropic, conflict", 409, nil, `{"type":"error","error":{"type":"conflict_error"}}`, quota.Conflict},
		{"Anthropic, bad request", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too
			long: 1036683 tokens > 1000000 maximum"}}`, quota.Invalid},
		{"Anthropic, key", 401, nil, `{"type":"error","error":{"type":"authentication_error"}}`, quota.Denied},
		{"Anthropic, rights", 403, nil, `{"type":"error","error":{"type":"permission_error"}}`, quota.Denied},
		// Gemini
		{"Gemini, rate", 429, nil, geminiRate, quota.Rate},
		{"Gemini, rate, no details", 429, nil, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check
			quota).","status":"RESOURCE_EXHAUSTED"}}]`, quota.Rate},
		{"Gemini, the day's quota", 429, nil, strings.ReplaceAll(geminiRate, "PerMinute", "PerDay"), quota.Impossible},
		{"Gemini, the day's quota, in ErrorInfo", 429, nil, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"reason":
			"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"Gemini25ProRequestsPerDay"}}]}}`, quota.Impossible},
		{"Gemini, overloaded", 503, nil, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, quota.Overloaded},
		{"Gemini, key", 400, nil, `{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, quota.Denied},
		{"Gemini, bad request", 400, nil, `{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`, quota.Invalid},
		{"Gemini, rights", 403, nil, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, quota.Denied},
		{"Gemini, deadline", 504, nil, `{"error":{"code":504,"status":"DEADLINE_EXCEEDED"}}`, quota.Server},
		// others
		{"Groq, too large", 413, nil, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000,
			Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}`, quota.Impossible},
		{"GitHub, rate", 403, header("X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1796040090"), "", quota.Rate},
		{"GitHub, secondary rate", 403, header("Retry-After", "60"), `{"message":"You have exceeded a secondary rate limit"}`, quota.Rate},
		{"a success", 200, header("Retry-After", "86400"), `{"error":{"code":"insufficient_quota"}}`, quota.None},
		{"a success that was filtered", 200, nil, `{"choices":[{"finish_reason":"content_filter"}]}`, quota.None},
		{"a redirect", 307, nil, "", quota.None},
		{"not implemented", 501, nil, "", quota.Invalid},
		{"another version of HTTP", 505, nil, "", quota.Invalid},
		{"a proxy's key", 407, nil, "", quota.Denied},
		{"Cloudflare", 522, nil, "<html>", quota.Server},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(quota.Classify(c.status, c.header, []byte(c.body)), c.want) // it was taken for something else
		})
	}
}

const geminiRate = `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.",
	"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{
	"quotaMetric":"generativelanguage.googleapis.com/generate_content_paid_tier_input_token_count",
	"quotaId":"GenerateContentPaidTierInputTokensPerModelPerMinute","quotaDimensions":{"model":"gemini-2.0-flash"}}]},
	{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"45.837906927s"}]}}`

func TestTheStatusDecidesWhereTheBodySaysNothing(t *testing.T) {
	t.Parallel()
	quotaBody := `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`
	for _, c := range []struct {
		name, body string
		want       quota.Cause
	}{
		{"cut off before the word's end", quotaBody[:len(quotaBody)-3], quota.Rate},
		{"cut off after it", quotaBody[:len(quotaBody)-2], quota.Money},
		{"in a list", `[` + quotaBody + `]`, quota.Money},
		{"no body", "", quota.Rate},
		{"HTML", "<html><h1>429 Too Many Requests</h1>", quota.Rate},
		{"text", "insufficient_quota", quota.Rate},
		{"another name", `{"error":{"message":"insufficient_quota"}}`, quota.Rate},
		{"a name", `{"code":{"insufficient_quota":1}}`, quota.Rate},
		{"nonsense", `}]"{:,code":"\`, quota.Rate},
		{"nonsense before", `"}]{"code":"insufficient_quota"`, quota.Rate}, // the quotes are the wrong way round
		{"zeros", strings.Repeat("\x00", 100), quota.Rate},
		{"within the head", `{"a":"` + strings.Repeat("x", quota.Head-100) + `","code":"insufficient_quota"}`, quota.Money},
		{"behind the head", `{"a":"` + strings.Repeat("x", quota.Head) + `","code":"insufficient_quota"}`, quota.Rate},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(quota.Classify(429, nil, []byte(c.body)), c.want) // it was taken for something else
		})
	}
}

func TestCausesSayWhetherToRetryAndHowToCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause     quota.Cause
		name      string
		transient bool
		health    quota.Health
	}{
		{quota.None, "none", false, quota.Success},
		{quota.Money, "money", false, quota.Ignored},
		{quota.Impossible, "impossible", false, quota.Ignored},
		{quota.ContentFilter, "content_filter", false, quota.Ignored},
		{quota.Denied, "denied", false, quota.Ignored},
		{quota.Rate, "rate", true, quota.Failure},
		{quota.Overloaded, "overloaded", true, quota.Failure},
		{quota.Conflict, "conflict", true, quota.Ignored},
		{quota.Timeout, "timeout", true, quota.Failure},
		{quota.Invalid, "invalid", false, quota.Ignored},
		{quota.Server, "server", true, quota.Failure},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(c.cause.String(), c.name)         // it has another name
			is.Equal(c.cause.Transient(), c.transient) // a retry is worth more, or less
			is.Equal(c.cause.Health(), c.health)       // a breaker counts it otherwise
		})
	}
}

func TestRetryInfoIsGeminisWait(t *testing.T) {
	t.Parallel()
	const untold = -1
	for body, want := range map[string]time.Duration{
		geminiRate:                        45837906927,
		`[{"retryDelay":"26s"}]`:          26 * time.Second,
		`{"retryDelay":"0s"}`:             0,
		`{"retryDelay":"-1s"}`:            untold,
		`{"retryDelay":"26"}`:             untold,
		`{"retryDelay":26}`:               untold,
		`{"retryDelay":"9999999999999s`:   untold, // cut off
		`{"retryDelay":"9999999999999s"}`: untold, // more than a duration holds
		`{"message":"retryDelay"}`:        untold,
		"":                                untold,
	} {
		t.Run(body, func(t *testing.T) {
			is := is.New(t)
			got, ok := quota.RetryInfo([]byte(body))
			is.Equal(ok, want != untold) // it was told, or not
			is.Equal(got, max(0, want))  // the wait is another
		})
	}
}

func FuzzClassify(f *testing.F) {
	for _, s := range []string{geminiRate, `{"error":{"code":"content_filter"}}`, `}]"{:,code":"\`, "retry after 86400 s", ""} {
		f.Add(429, s, "86400")
	}
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string) {
		c := quota.Classify(status, header("Retry-After", retryAfter), []byte(body))
		if (status < 400) != (c == quota.None) || c.String() == "" {
			t.Fatalf("%d %q: %v", status, body, c)
		}
		if d, ok := quota.RetryInfo([]byte(body)); d < 0 || !ok && d != 0 {
			t.Fatalf("%q: %v, %v", body, d, ok)
		}
	})
}
