package resilient

import (
	"encoding/json"
	"regexp"
	"strconv"
	"time"
)

// A section is one strategy in a document: an object of its settings, or "off".
type section struct {
	key      string
	off      bool
	turnOff  func(*draft)
	start    func(*draft) // what the verb does before its options, if anything
	end      func(*draft) // and after them
	settings []setting
}

// A setting is one value in a document.
type setting struct {
	key   string
	value any    // a pointer to where it is kept
	given func() // what else follows from its being given, if anything
}

// schema is the form of a document about d, for reading and for writing. A key is the name of the field in lower camel
// case. Functions have no place in it.
func schema(d *draft) []section {
	gave := func(m marks) func() { return func() { d.given |= m } }
	gaveBackoff := func(m marks) func() { return func() { d.gaveBackoff(m) } }
	return []section{
		{"timeout", d.Timeout.off(), Off.timeout, nil, nil, []setting{
			{"total", &d.Timeout.Total, gave(gaveTotal)},
			{"perAttempt", &d.Timeout.PerAttempt, gave(gaveAttempt)},
			{"bodyIdle", &d.Timeout.BodyIdle, nil},
			{"totalIncludesBody", &d.Timeout.TotalIncludesBody, gave(gaveTotalBody)},
		}},
		{"concurrency", d.Concurrency.off(), Off.concurrency, (*draft).startConcurrency, nil, []setting{
			{"permits", &d.Concurrency.Permits, nil},
			{"queue", &d.Concurrency.Queue, nil},
		}},
		{"retry", d.Retry.off(), Off.retry, (*draft).startRetry, (*draft).endRetry, []setting{
			{"maxRetries", &d.Retry.MaxRetries, d.gaveMaxRetries},
			{"backoffBase", &d.Retry.BackoffBase, gaveBackoff(gaveBase)},
			{"backoffCap", &d.Retry.BackoffCap, gaveBackoff(gaveCap)},
			{"jitter", &d.Retry.Jitter, nil},
			{"retryAfter", &d.Retry.RetryAfter, nil},
			{"maxRetryAfter", &d.Retry.MaxRetryAfter, nil},
			{"methods", &d.Retry.Methods, nil},
			{"exceptMethods", &d.Retry.ExceptMethods, nil},
			{"bufferLimit", &d.Retry.BufferLimit, nil},
			{"readCauses", &d.Retry.ReadCauses, nil},
		}},
		{"budget", d.Budget.off(), Off.budget, (*draft).startBudget, nil, []setting{
			{"retryRatio", &d.Budget.RetryRatio, nil},
			{"samplingDuration", &d.Budget.SamplingDuration, nil},
			{"minimumThroughput", &d.Budget.MinimumThroughput, nil},
			{"lowVolumeRetries", &d.Budget.LowVolumeRetries, nil},
			{"name", &d.Budget.Name, nil},
		}},
		{"rateLimit", d.RateLimit.off(), Off.rateLimit, (*draft).startRateLimit, (*draft).endRateLimit, []setting{
			{"tokens", &d.RateLimit.Tokens, nil},
			{"per", &d.RateLimit.Per, nil},
			{"burst", &d.RateLimit.Burst, gave(gaveBurst)},
			{"wait", &d.RateLimit.Wait, nil},
			{"perCall", &d.RateLimit.PerCall, nil},
			{"settleUsage", &d.RateLimit.SettleUsage, nil},
			{"heedServer", &d.RateLimit.HeedServer, nil},
		}},
		{"endpoints", d.Endpoints.off(), Off.routing, (*draft).startEndpoints, nil, []setting{
			{"routing", &d.Endpoints.Routing, nil},
			{"list", &d.Endpoints.List, nil},
		}},
		{"breaker", d.Breaker.off(), Off.breaker, (*draft).startBreaker, nil, []setting{
			{"failureRatio", &d.Breaker.FailureRatio, nil},
			{"minimumThroughput", &d.Breaker.MinimumThroughput, nil},
			{"samplingDuration", &d.Breaker.SamplingDuration, gave(gaveSampling)},
			{"breakDuration", &d.Breaker.BreakDuration, nil},
			{"breakUntilRetryAfter", &d.Breaker.BreakUntilRetryAfter, nil},
		}},
		{"idempotency", d.Idempotency.off(), Off.idempotency, nil, nil, []setting{
			{"unprocessedOnly", &d.Idempotency.UnprocessedOnly, nil},
			{"ambiguousStatuses", &d.Idempotency.AmbiguousStatuses, nil},
			{"generateKeys", &d.Idempotency.GenerateKeys, nil},
		}},
	}
}

// switches are the settings beside the sections.
func switches(d *draft) []setting {
	return []setting{
		{"perAuthority", &d.PerAuthority, nil},
		{"rejectAsResponse", &d.RejectAsResponse, nil},
	}
}

// MarshalJSON writes all settings but functions, as [Builder.JSON] and [Config.UnmarshalJSON] read them. A duration is
// text such as "1m30s", and a strategy that is off is "off". What has no value is left out: a list that is nil, a jitter
// that is not set. It fails if a number has no form in JSON, as NaN.
func (c Config) MarshalJSON() ([]byte, error) {
	d := &draft{Config: c}
	document := []byte("{")
	for _, s := range schema(d) {
		value, err := s.encode()
		if err != nil {
			return nil, err
		}
		document = append(member(document, s.key), value...)
	}
	for _, s := range switches(d) {
		value, err := encode(s.value)
		if err != nil {
			return nil, err
		}
		document = append(member(document, s.key), value...)
	}
	return append(document, '}'), nil
}

func (s section) encode() ([]byte, error) {
	if s.off {
		return []byte(`"off"`), nil
	}
	object := []byte("{")
	for _, known := range s.settings {
		value, err := encode(known.value)
		if err != nil {
			return nil, err
		}
		if value != nil {
			object = append(member(object, known.key), value...)
		}
	}
	return append(object, '}'), nil
}

// member begins the next member of an object.
func member(object []byte, key string) []byte {
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	return append(strconv.AppendQuote(object, key), ':')
}

// UnmarshalJSON sets what the document gives, and leaves the rest as it was. It is as strict as [Builder.JSON], but takes
// every value for what it is: a policy may be filled in half. If there is an error, nothing is set.
func (c *Config) UnmarshalJSON(document []byte) error {
	d := &draft{Config: c.Config()}
	reader{draft: d, document: document, verbatim: true}.read()
	if err := d.err(); err != nil {
		return err
	}
	*c = d.Config
	return nil
}

// encode writes a value, or nothing if there is none.
func encode(value any) ([]byte, error) {
	switch p := value.(type) {
	case *time.Duration:
		return json.Marshal(short(*p))
	case *Jitter:
		if *p == 0 {
			return nil, nil
		}
	case *Routing:
		if *p == 0 {
			return nil, nil
		}
	case *[]Endpoint:
		if *p == nil {
			return nil, nil
		}
	case *[]string:
		if *p == nil {
			return nil, nil
		}
	case *[]int:
		if *p == nil {
			return nil, nil
		}
	}
	return json.Marshal(value)
}

// decode reads a value to where target points, or says what it ought to be. Lists are read into new ones, for the old one
// may be somebody else's, too.
func decode(raw []byte, target any) (want string, ok bool) {
	switch p := target.(type) {
	case decoder:
		return p(raw)
	case *time.Duration:
		return `a duration such as "30s" or "00:00:30"`, duration(raw, p)
	case *int:
		return "a whole number", value(raw, p)
	case *float64:
		return "a number", value(raw, p)
	case *bool:
		return "true or false", value(raw, p)
	case *string:
		return "a string", value(raw, p)
	case *Jitter:
		return `"decorrelated", "full" or "none"`, value(raw, p)
	case *Routing:
		return `"roundRobin", "ordered" or "weighted"`, value(raw, p)
	case *[]string:
		var list []string
		if ok = value(raw, &list); ok {
			*p = list
		}
		return "a list of strings", ok
	case *[]int:
		var list []int
		if ok = value(raw, &list); ok {
			*p = list
		}
		return "a list of whole numbers", ok
	default:
		return "left out", false
	}
}

// value is Unmarshal, but that null is not a value.
func value(raw []byte, target any) bool {
	return string(raw) != "null" && json.Unmarshal(raw, target) == nil
}

func duration(raw []byte, target *time.Duration) bool {
	var text string
	if !value(raw, &text) {
		return false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		var ok bool
		if d, ok = timeSpan(text); !ok {
			return false
		}
	}
	*target = d
	return true
}

// timeSpan reads a duration as .NET writes it: [d.]hh:mm:ss[.fffffff].
func timeSpan(text string) (time.Duration, bool) {
	parts := timeSpanForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	days, _ := strconv.Atoi(parts[1])
	d, err := time.ParseDuration(parts[2] + "h" + parts[3] + "m" + parts[4] + "s")
	return d + time.Duration(days)*24*time.Hour, err == nil
}

var timeSpanForm = regexp.MustCompile(`^(?:(\d{1,4})\.)?([01]?\d|2[0-3]):([0-5]\d):([0-5]\d(?:\.\d{1,7})?)$`)
