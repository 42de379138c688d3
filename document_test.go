package resilient_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestConfigIsWrittenAsADocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	got, err := json.Marshal(resilient.Conservative.Config())
	is.NoErr(err) // it has a form
	is.Equal(string(got), `{`+
		`"timeout":{"total":"30s","perAttempt":"10s","bodyIdle":"0s","totalIncludesBody":false},`+
		`"concurrency":{"permits":1000,"queue":0},`+
		`"retry":{"maxRetries":1,"backoffBase":"2s","backoffCap":"0s","jitter":"decorrelated","retryAfter":true,"maxRetryAfter":"0s","bufferLimit":65536,"readCauses":false},`+
		`"budget":{"retryRatio":0.1,"samplingDuration":"30s","minimumThroughput":100,"lowVolumeRetries":0,"name":""},`+
		`"rateLimit":"off","endpoints":"off",`+
		`"breaker":{"failureRatio":0.5,"minimumThroughput":100,"samplingDuration":"30s","breakDuration":"5s","breakUntilRetryAfter":false},`+
		`"idempotency":{"unprocessedOnly":true,"generateKeys":false},`+
		`"perAuthority":false,"rejectAsResponse":false}`) // lists that are nil are left out
	got, err = json.Marshal(resilient.Config{})
	is.NoErr(err)                                                                                                                                                                                                     // nor does it matter that everything is off
	is.Equal(string(got), `{"timeout":"off","concurrency":"off","retry":"off","budget":"off","rateLimit":"off","endpoints":"off","breaker":"off","idempotency":"off","perAuthority":false,"rejectAsResponse":false}`) // it is said
}

func TestConfigRoundTrips(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]resilient.Config{
		"None": resilient.None.Config(), "Standard": resilient.Standard.Config(),
		"Conservative": resilient.Conservative.Config(), "AI": resilient.AI.Config(),
		"filled in half": {Retry: resilient.RetryPolicy{BackoffBase: sec}, Budget: resilient.BudgetPolicy{Name: "y"}},
		"empty lists": {
			Retry:       resilient.RetryPolicy{Methods: []string{}, ExceptMethods: []string{}},
			Idempotency: resilient.IdempotencyPolicy{AmbiguousStatuses: []int{}},
		},
		"odd values": {
			Timeout:      resilient.TimeoutPolicy{Total: math.MinInt64, PerAttempt: math.MaxInt64, BodyIdle: 90*time.Minute + 1},
			Concurrency:  resilient.ConcurrencyPolicy{Permits: math.MinInt, Queue: math.MaxInt},
			Budget:       resilient.BudgetPolicy{RetryRatio: 1.0 / 3, Name: "a\n<\"ä"},
			Breaker:      resilient.BreakerPolicy{FailureRatio: math.SmallestNonzeroFloat64},
			PerAuthority: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			document, err := json.Marshal(c)
			is.NoErr(err) // it is written
			var back resilient.Config
			is.NoErr(json.Unmarshal(document, &back)) // and read
			is.True(reflect.DeepEqual(back, c))       // as the same, a nil list apart from an empty one
		})
	}
}

func TestConfigWithoutAFormInJSONIsAnError(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := json.Marshal(resilient.Config{Budget: resilient.BudgetPolicy{RetryRatio: math.NaN()}})
	is.True(err != nil) // NaN
	_, err = json.Marshal(resilient.Config{Retry: resilient.RetryPolicy{Jitter: 42}})
	is.True(err != nil) // a jitter without a name
}

// Every document of a policy is the same as the options that its fields are named for.
func TestDocumentIsAppliedAsVerbsAre(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		document string
		verbs    func(resilient.Builder) resilient.Builder
	}{
		"nothing": {`{}`, func(b resilient.Builder) resilient.Builder { return b }},
		"all off": {
			`{"timeout": "off", "concurrency": "off", "retry": "off", "budget": "off", "breaker": "off", "idempotency": "off"}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Off).Concurrency(resilient.Off).Retry(resilient.Off).Budget(resilient.Off).
					Breaker(resilient.Off).Idempotency(resilient.Off)
			},
		},
		"mentioned, and no more": {
			`{"timeout": {}, "concurrency": {}, "retry": {}, "budget": {}, "breaker": {}, "idempotency": {}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout().Concurrency().Retry().Budget().Breaker().Idempotency()
			},
		},
		"timeout": {
			`{"timeout": {"total": "20s", "perAttempt": "1s500ms", "bodyIdle": "1m", "totalIncludesBody": true}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.Total(20*sec), resilient.PerAttempt(1500*msec), resilient.BodyIdle(60*sec),
					resilient.TotalIncludesBody(true))
			},
		},
		"concurrency": {
			`{"concurrency": {"permits": 7, "queue": 3}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Concurrency(resilient.Permits(7), resilient.Queue(3))
			},
		},
		"retry": {
			`{"retry": {"maxRetries": 4, "backoffBase": "1s", "backoffCap": "9s", "jitter": "full", "retryAfter": false,
				"maxRetryAfter": "5s", "methods": ["GET", "PUT"], "bufferLimit": 99}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Retry(resilient.MaxRetries(4), resilient.Backoff(sec, 9*sec), resilient.FullJitter,
					resilient.RetryAfter(false), resilient.MaxRetryAfter(5*sec), resilient.RetryMethods("GET", "PUT"),
					resilient.BufferLimit(99))
			},
		},
		"exceptions": {
			`{"retry": {"exceptMethods": ["POST"]}}`,
			func(b resilient.Builder) resilient.Builder { return b.Retry(resilient.ExceptMethods("POST")) },
		},
		"budget": {
			`{"budget": {"retryRatio": 5e-2, "samplingDuration": "7s", "minimumThroughput": 5, "lowVolumeRetries": 2, "name": "y"}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Budget(resilient.RetryRatio(0.05), resilient.SamplingDuration(7*sec), resilient.MinimumThroughput(5),
					resilient.LowVolumeRetries(2), resilient.BudgetName("y"))
			},
		},
		"breaker": {
			`{"breaker": {"failureRatio": 0.3, "minimumThroughput": 5, "samplingDuration": "50s", "breakDuration": "9s", "breakUntilRetryAfter": true}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Breaker(resilient.FailureRatio(0.3), resilient.MinimumThroughput(5), resilient.SamplingDuration(50*sec),
					resilient.BreakDuration(9*sec), resilient.BreakUntilRetryAfter(true))
			},
		},
		"idempotency": {
			`{"idempotency": {"unprocessedOnly": true, "ambiguousStatuses": [502], "generateKeys": true}}`,
			func(b resilient.Builder) resilient.Builder {
				return b.Idempotency(resilient.AmbiguousStatuses(502), resilient.GenerateKeys)
			},
		},
		"per authority": {
			`{"perAuthority": true}`,
			func(b resilient.Builder) resilient.Builder { return b.PerAuthority() },
		},
	} {
		for _, preset := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
			t.Run(name+" over "+preset.String(), func(t *testing.T) {
				is := is.New(t)
				b := alone().Defaults(preset)
				is.Equal(b.JSON([]byte(row.document)).Config(), row.verbs(b).Config()) // the same configuration
				is.Equal(mistakes(b.JSON([]byte(row.document))), "")                   // and a sound one
			})
		}
	}
}

func TestDocumentsAddUpInOrder(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.New("x").
		JSON([]byte(`{"retry": {"maxRetries": 1}, "breaker": "off"}`)).
		JSON([]byte(`{"retry": {"jitter": "none"}, "breaker": {"failureRatio": 0.4}}`)).
		Retry(resilient.MaxRetries(5)).Config()
	is.Equal(c.Retry.MaxRetries, 5)              // the verb after them
	is.Equal(c.Retry.Jitter, resilient.NoJitter) // the second's
	is.Equal(c.Breaker.FailureRatio, 0.4)        // switched on again by the second
	is.Equal(c.Breaker.MinimumThroughput, 100)   // with Standard's values
}

func TestDocumentIsReadStrictly(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ document, want string }{
		"empty":            {"", `JSON: the document is empty; leave it out, or make it {}`},
		"blank":            {" \n\t", `JSON: the document is empty; leave it out, or make it {}`},
		"null":             {`null`, `JSON(null): line 1: must be an object; leave it out to keep what is set`},
		"a list":           {"\n[{}]", `JSON([{}]): line 2: must be an object; leave it out to keep what is set`},
		"cut off":          {"{\n\"retry\": {", `JSON: line 2: unexpected end of JSON input; look for a quote, a comma or a bracket that is missing, or one too many`},
		"not JSON":         {"{\n\n'retry': 1}", `JSON: line 3: invalid character '\'' looking for beginning of object key string; look for a quote, a comma or a bracket that is missing, or one too many`},
		"a comment":        {`{} // all defaults`, `JSON: line 1: invalid character '/' after top-level value; look for a quote, a comma or a bracket that is missing, or one too many`},
		"two documents":    {"{}\n{}", `JSON: line 2: invalid character '{' after top-level value; look for a quote, a comma or a bracket that is missing, or one too many`},
		"a trailing comma": {`{"perAuthority": true,}`, `JSON: line 1: invalid character '}' looking for beginning of object key string; look for a quote, a comma or a bracket that is missing, or one too many`},
		"unknown section": {
			"{\n  \"retires\": {\"maxRetries\": 3}\n}",
			`JSON(retires): line 2: there is no such setting; did you mean retry?`,
		},
		"unknown setting": {
			"{\n  \"concurrency\": {\n    \"permit\": 3\n  }\n}",
			`JSON(concurrency.permit): line 3: there is no such setting; did you mean permits?`,
		},
		"another case": {
			`{"concurrency": {"Permits": 3}}`,
			`JSON(concurrency.Permits): line 1: there is no such setting; did you mean permits?`,
		},
		"a key that could forge a line": {
			`{"a\nb": 1, "concurrency": {"a.b": 1}}`,
			`JSON("a\nb"): line 1: there is no such setting; there are timeout, concurrency, retry, budget, rateLimit, endpoints, breaker, idempotency, perAuthority, rejectAsResponse` +
				"\n" + `resilient: client "x": JSON(concurrency."a.b"): line 1: there is no such setting; there are permits, queue`,
		},
		"given twice": {
			"{\"retry\": {\"maxRetries\": 3,\n\"maxRetries\": 3}}",
			`JSON(retry.maxRetries): line 2: is given twice; leave one out`,
		},
		"twice in another spelling": {
			`{"retry": {"maxRetries": 3, "\u006daxRetries": 3}}`,
			`JSON(retry.maxRetries): line 1: is given twice; leave one out`,
		},
		"a section twice":     {`{"retry": "off", "retry": {}}`, `JSON(retry): line 1: is given twice; leave one out`},
		"a section that is 3": {`{"retry": 3}`, `JSON(retry: 3): line 1: must be an object, or "off"; leave it out to keep what is set`},
		"a section null":      {`{"retry": null}`, `JSON(retry: null): line 1: must be an object, or "off"; leave it out to keep what is set`},
		"a section on":        {`{"retry": "on"}`, `JSON(retry: "on"): line 1: must be an object, or "off"; leave it out to keep what is set`},
		"a section false":     {`{"retry": false}`, `JSON(retry: false): line 1: must be an object, or "off"; leave it out to keep what is set`},
		"text for a number":   {`{"retry": {"maxRetries": "two"}}`, `JSON(retry.maxRetries: "two"): line 1: must be a whole number; leave it out to keep what is set`},
		"a fraction":          {`{"retry": {"maxRetries": 2.5}}`, `JSON(retry.maxRetries: 2.5): line 1: must be a whole number; leave it out to keep what is set`},
		"a number too large":  {`{"retry": {"maxRetries": 1e30}}`, `JSON(retry.maxRetries: 1e30): line 1: must be a whole number; leave it out to keep what is set`},
		"null for a number":   {`{"retry": {"maxRetries": null}}`, `JSON(retry.maxRetries: null): line 1: must be a whole number; leave it out to keep what is set`},
		"a number for a time": {`{"timeout": {"total": 30}}`, `JSON(timeout.total: 30): line 1: must be a duration such as "30s" or "00:00:30"; write "30s" if seconds are meant`},
		"a time of no unit":   {`{"timeout": {"total": "30"}}`, `JSON(timeout.total: "30"): line 1: must be a duration such as "30s" or "00:00:30"; write "30s" if seconds are meant`},
		"null for a time":     {`{"timeout": {"total": null}}`, `JSON(timeout.total: null): line 1: must be a duration such as "30s" or "00:00:30"; leave it out to keep what is set`},
		"text for a switch":   {`{"retry": {"retryAfter": "yes"}}`, `JSON(retry.retryAfter: "yes"): line 1: must be true or false; leave it out to keep what is set`},
		"text for a ratio":    {`{"budget": {"retryRatio": "10%"}}`, `JSON(budget.retryRatio: "10%"): line 1: must be a number; leave it out to keep what is set`},
		"a ratio too large":   {`{"budget": {"retryRatio": 1e400}}`, `JSON(budget.retryRatio: 1e400): line 1: must be a number; leave it out to keep what is set`},
		"a number for a name": {`{"budget": {"name": 3}}`, `JSON(budget.name: 3): line 1: must be a string; leave it out to keep what is set`},
		"an unknown jitter":   {`{"retry": {"jitter": "Full"}}`, `JSON(retry.jitter: "Full"): line 1: must be "decorrelated", "full" or "none"; leave it out to keep what is set`},
		"a jitter's number":   {`{"retry": {"jitter": 2}}`, `JSON(retry.jitter: 2): line 1: must be "decorrelated", "full" or "none"; leave it out to keep what is set`},
		"one for a list":      {`{"retry": {"methods": "GET"}}`, `JSON(retry.methods: "GET"): line 1: must be a list of strings; leave it out to keep what is set`},
		"a list of others":    {`{"idempotency": {"ambiguousStatuses": ["500"]}}`, `JSON(idempotency.ambiguousStatuses: ["500"]): line 1: must be a list of whole numbers; leave it out to keep what is set`},
		"a root that is text": {`{"perAuthority": "yes"}`, `JSON(perAuthority: "yes"): line 1: must be true or false; leave it out to keep what is set`},
		"a long value": {
			`{"retry": {"maxRetries": {"a":   ["` + strings.Repeat("ä", 30) + `"]}}}`,
			`JSON(retry.maxRetries: {"a":["` + strings.Repeat("ä", 16) + `...): line 1: must be a whole number; leave it out to keep what is set`,
		},
		"out of range, as by verb": {`{"retry": {"maxRetries": -1}}`, `Retry(MaxRetries(-1)): must be 0 or more; 0, or Retry(Off), is for none`},
		"an empty list of methods": {`{"retry": {"methods": []}}`, `Retry(RetryMethods()): must name a method; Retry(Off) retries none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(mistakes(alone().JSON([]byte(row.document))), `resilient: client "x": `+row.want) // with the place
		})
	}
}

func TestDocumentReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(mistakes(alone().JSON([]byte("{\n\"retry\": {\"a\": 1, \"jitter\": 1},\n\"b\": 2}"))), strings.Join([]string{
		`resilient: client "x": JSON(retry.a): line 2: there is no such setting; there are maxRetries, backoffBase, backoffCap, jitter, retryAfter, maxRetryAfter, methods, exceptMethods, bufferLimit, readCauses`,
		`resilient: client "x": JSON(retry.jitter: 1): line 2: must be "decorrelated", "full" or "none"; leave it out to keep what is set`,
		`resilient: client "x": JSON(b): line 3: there is no such setting; there are timeout, concurrency, retry, budget, rateLimit, endpoints, breaker, idempotency, perAuthority, rejectAsResponse`,
	}, "\n")) // in the order of the document
}

func TestUnmarshalTakesValuesForWhatTheyAre(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.Config{Breaker: resilient.Standard.Config().Breaker}
	is.NoErr(json.Unmarshal([]byte(`{"retry": {"maxRetries": 0, "backoffBase": "1s"}, "breaker": {"failureRatio": 0.9}}`), &c)) // it is read
	is.Equal(c.Retry, resilient.RetryPolicy{BackoffBase: sec})                                                                  // filled in half, with nothing of Standard's
	is.Equal(c.Breaker.FailureRatio, 0.9)                                                                                       // over what was there
	is.Equal(c.Breaker.MinimumThroughput, 100)                                                                                  // which stays

	before := c
	err := json.Unmarshal([]byte(`{"breaker": {"failureRatio": 0.1}, "retry": {"maxRetry": 1}}`), &c)
	is.True(err != nil)                                                                                          // it is as strict as a builder
	is.Equal(c, before)                                                                                          // and all or nothing
	is.True(strings.HasPrefix(err.Error(), "resilient: JSON(retry.maxRetry): line 1: there is no such setting")) // with the same words
}

// A function has no place in a document, and none is lost by one.
func TestDocumentLeavesFunctionsAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x").Retry(resilient.RetryIf(func(resilient.Attempt) bool { return true })).
		JSON([]byte(`{"retry": {"maxRetries": 1}}`))
	is.True(b.Config().Retry.RetryIf != nil) // it is still there
}

func FuzzConfigDocument(f *testing.F) {
	for _, preset := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
		document, err := json.Marshal(preset.Config())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(document)
	}
	f.Add([]byte(`{"retry": {"maxRetries": 0, "methods": [], "jitter": "none"}, "perAuthority": true}`))
	f.Add([]byte(`{"timeout": {"total": "-2562047h47m16.854775808s"}, "budget": {"retryRatio": -0, "name": "\ud800"}}`))
	f.Add([]byte(`{"a\n": {"b": [1, {"c": null}]}, "a\n": 1}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		_ = mistakes(resilient.New("x").Registry(resilient.NewRegistry()).JSON(document)) // never panics
		var c, back resilient.Config
		if json.Unmarshal(document, &c) != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%s was read, but cannot be written: %v", document, err)
		}
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s was written, but cannot be read: %v", again, err)
		}
		if !reflect.DeepEqual(c, back) {
			t.Fatalf("%s became %s", document, again)
		}
	})
}
