package resilient

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

// everyField calls f with each field of a policy of c, and with the policy.
func everyField(c *Config, f func(name string, field, policy reflect.Value)) {
	config := reflect.ValueOf(c).Elem()
	for i := range config.NumField() {
		policy := config.Field(i)
		if policy.Kind() != reflect.Struct {
			f(config.Type().Field(i).Name, policy, config)
			continue
		}
		for j := range policy.NumField() {
			f(config.Type().Field(i).Name+"."+policy.Type().Field(j).Name, policy.Field(j), policy)
		}
	}
}

// somewhat sets a field to what is not its zero.
func somewhat(field reflect.Value) {
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int, reflect.Int64:
		field.SetInt(1)
	case reflect.Float64:
		field.SetFloat(0.5)
	case reflect.String:
		field.SetString("y")
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 0, 0))
	case reflect.Func:
		field.Set(reflect.MakeFunc(field.Type(), nil))
	default:
		panic(field.Kind())
	}
}

func TestEveryFieldThatIsNotAFunctionIsInDocuments(t *testing.T) {
	t.Parallel()
	d := &draft{}
	kept := map[any]string{}
	for _, s := range switches(d) {
		kept[s.value] = s.key
	}
	for _, s := range schema(d) {
		for _, known := range s.settings {
			kept[known.value] = known.key
		}
	}
	everyField(&d.Config, func(name string, field, policy reflect.Value) {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			key, found := kept[field.Addr().Interface()]
			is.Equal(found, field.Kind() != reflect.Func) // it has a key
			short := name[strings.LastIndex(name, ".")+1:]
			if found {
				is.Equal(key, strings.ToLower(short[:1])+short[1:]) // which is its name
			}
		})
	})
}

// everything has all policies on.
func everything() Config {
	c := AI.Config()
	c.RateLimit = RateLimitPolicy{Tokens: 10, Per: time.Second, Burst: 10}
	c.Endpoints = EndpointPolicy{Routing: RoundRobin, List: []Endpoint{{URL: "http://a.test"}, {URL: "http://b.test"}}}
	return c
}

// A field that off does not look at would make a policy that is filled in half pass for one that is off.
func TestEveryFieldAloneMakesAPolicyNotOff(t *testing.T) {
	t.Parallel()
	everyField(&Config{}, func(name string, field, policy reflect.Value) {
		t.Run(name, func(t *testing.T) {
			var off interface{ off() bool }
			defer func() { policy.SetZero() }()
			somewhat(field)
			switch p := policy.Interface().(type) {
			case TimeoutPolicy:
				off = p
			case ConcurrencyPolicy:
				off = p
			case RetryPolicy:
				off = p
			case BudgetPolicy:
				off = p
			case RateLimitPolicy:
				off = p
			case EndpointPolicy:
				off = p
			case BreakerPolicy:
				off = p
			case IdempotencyPolicy:
				off = p
			case Config:
				return // a switch, which belongs to no policy
			}
			is := is.New(t)
			is.True(!off.off()) // it is filled in half
		})
	})
}

func TestEveryNumberIsValidated(t *testing.T) {
	t.Parallel()
	c := everything()
	everyField(&c, func(name string, field, _ reflect.Value) {
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		defer field.Set(before)
		switch field.Kind() {
		case reflect.Int, reflect.Int64:
			field.SetInt(-1)
		case reflect.Float64:
			field.SetFloat(-1)
		case reflect.String:
			field.SetString("\n")
		default:
			return // it has no range
		}
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			d := New("x").Defaults(c).draft()
			is.True(d.check() != nil)  // below its range
			is.Equal(len(d.faults), 1) // by this rule alone
		})
	})
}

// Each verb changes its field from what it is in AI, and no other.
func TestEveryFieldHasAVerb(t *testing.T) {
	t.Parallel()
	b := New("x").Defaults(everything())
	places := everything().Endpoints.List
	verbs := map[string]Builder{
		"Timeout.Total":                 b.Timeout(Total(200 * time.Second)),
		"Timeout.PerAttempt":            b.Timeout(PerAttempt(time.Second)),
		"Timeout.BodyIdle":              b.Timeout(BodyIdle(time.Second)),
		"Timeout.TotalIncludesBody":     b.Timeout(TotalIncludesBody(true)),
		"Concurrency.Permits":           b.Concurrency(Permits(1)),
		"Concurrency.Queue":             b.Concurrency(Queue(1)),
		"Retry.MaxRetries":              b.Retry(MaxRetries(1)),
		"Retry.BackoffBase":             b.Retry(Backoff(time.Second, 30*time.Second)),
		"Retry.BackoffCap":              b.Retry(Backoff(2*time.Second, 3*time.Second)),
		"Retry.Jitter":                  b.Retry(FullJitter),
		"Retry.BackoffFunc":             b.Retry(BackoffFunc(func() backoff.BackOff { return nil })),
		"Retry.RetryAfter":              b.Retry(RetryAfter(false)),
		"Retry.MaxRetryAfter":           b.Retry(MaxRetryAfter(time.Second)),
		"Retry.Methods":                 b.Retry(RetryMethods("GET")),
		"Retry.ExceptMethods":           b.Retry(SafeMethodsOnly),
		"Retry.BufferLimit":             b.Retry(BufferLimit(1)),
		"Retry.ReadCauses":              b.Retry(ReadCauses(false)),
		"Retry.RetryIf":                 b.Retry(RetryIf(func(Attempt) bool { return true })),
		"Budget.RetryRatio":             b.Budget(RetryRatio(1)),
		"Budget.SamplingDuration":       b.Budget(SamplingDuration(time.Second)),
		"Budget.MinimumThroughput":      b.Budget(MinimumThroughput(1)),
		"Budget.LowVolumeRetries":       b.Budget(LowVolumeRetries(1)),
		"Budget.Name":                   b.Budget(BudgetName("y")),
		"Breaker.FailureRatio":          b.Breaker(FailureRatio(1)),
		"Breaker.MinimumThroughput":     b.Breaker(MinimumThroughput(2)),
		"Breaker.SamplingDuration":      b.Breaker(SamplingDuration(time.Hour)),
		"Breaker.BreakDuration":         b.Breaker(BreakDuration(time.Second)),
		"Breaker.BreakUntilRetryAfter":  b.Breaker(BreakUntilRetryAfter(false)),
		"Breaker.BreakDurationFunc":     b.Breaker(BreakDurationFunc(func(Break) time.Duration { return 0 })),
		"Idempotency.UnprocessedOnly":   b.Idempotency(UnprocessedOnly),
		"Idempotency.AmbiguousStatuses": b.Idempotency(UnprocessedOnly).Idempotency(AmbiguousStatuses()),
		"Idempotency.GenerateKeys":      b.Idempotency(GenerateKeys),
		"RateLimit.Tokens":              b.RateLimit(PerSecond(20)),
		"RateLimit.Per":                 b.RateLimit(PerMinute(10)),
		"RateLimit.Burst":               b.RateLimit(Burst(1)),
		"RateLimit.Wait":                b.RateLimit(Wait(time.Second)),
		"RateLimit.PerCall":             b.RateLimit(PerCall),
		"RateLimit.Cost":                b.RateLimit(Cost(func(*http.Request) int { return 1 })),
		"RateLimit.SettleUsage":         b.RateLimit(SettleUsage),
		"RateLimit.HeedServer":          b.RateLimit(HeedServer),
		"Endpoints.Routing":             b.Endpoints(Ordered, places...),
		"Endpoints.List":                b.Endpoints(RoundRobin, places[0]),
		"Endpoints.StickyBy":            b.Endpoints(RoundRobin.StickyBy(func(*http.Request) string { return "" }), places...),
		"PerAuthority":                  b.Endpoints(Off).PerAuthority(),
		"RejectAsResponse":              b.RejectAsResponse(),
	}
	c := everything()
	fields := 0
	everyField(&c, func(name string, _, _ reflect.Value) {
		fields++
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			changed, found := verbs[name]
			is.True(found)                                            // it has a verb
			is.NoErr(changed.Registry(NewRegistry()).draft().check()) // and with it the client is sound
			want := map[string]bool{name: true}
			if name == "Idempotency.AmbiguousStatuses" {
				want["Idempotency.UnprocessedOnly"] = true // which it brings along
			}
			if name == "PerAuthority" {
				want["Endpoints.Routing"], want["Endpoints.List"] = true, true // which it excludes
			}
			is.Equal(differences(everything(), changed.Config()), want) // it changes that field
		})
	})
	is.New(t).Equal(len(verbs), fields) // no verb is for a field that is gone
}

func differences(a, b Config) map[string]bool {
	names, values := map[string]bool{}, map[string]any{}
	everyField(&a, func(name string, field, _ reflect.Value) { values[name] = field.Interface() })
	everyField(&b, func(name string, field, _ reflect.Value) {
		same := reflect.DeepEqual(values[name], field.Interface())
		if field.Kind() == reflect.Func {
			same = reflect.ValueOf(values[name]).IsNil() == field.IsNil()
		}
		if !same {
			names[name] = true
		}
	})
	return names
}

// Numbers of any size, with anything else at hand: Build says what it thinks of them, and does not panic.
func FuzzBuild(f *testing.F) {
	f.Add(int64(0), int64(0), 0, 0, 0.0, 0.0, uint8(0), "x")
	f.Add(int64(10*time.Second), int64(30*time.Second), 3, 100, 0.1, 0.5, uint8(0xff), "inventory")
	f.Add(int64(-1), int64(1)<<62, -1, 1<<40, -0.5, 1e300, uint8(0x0f), "\xff")
	f.Fuzz(func(t *testing.T, short, long int64, few, many int, low, high float64, which uint8, name string) {
		a, b := time.Duration(short), time.Duration(long)
		presets := []Preset{None, Standard, Conservative, AI, Preset(few)}
		builder := New(name).Registry(NewRegistry()).Defaults(presets[int(which)%len(presets)])
		if which&1 != 0 {
			builder = builder.Timeout(Total(b), PerAttempt(a), BodyIdle(b))
		}
		if which&2 != 0 {
			builder = builder.Breaker(FailureRatio(high), MinimumThroughput(many), SamplingDuration(b), BreakDuration(a))
		}
		if which&4 != 0 {
			builder = builder.Budget(RetryRatio(low), MinimumThroughput(few), SamplingDuration(b), LowVolumeRetries(many), BudgetName(name))
		}
		if which&8 != 0 {
			builder = builder.Retry(MaxRetries(few), Backoff(a, b), Jitter(many), MaxRetryAfter(b), BufferLimit(many))
		}
		if which&16 != 0 {
			builder = builder.Concurrency(Permits(many), Queue(few)).Idempotency(AmbiguousStatuses(few, many))
		}
		if which&32 != 0 {
			builder = builder.PerAuthority().Client(&http.Client{Timeout: a})
		}
		_, err := builder.BuildTransport()
		again, errAgain := New(name).Registry(NewRegistry()).Defaults(builder.Config()).BuildTransport()
		if err == nil && (errAgain != nil || again == nil) {
			t.Fatalf("%+v is sound as a chain, but not as a Config: %v", builder.Config(), errAgain)
		}
	})
}
