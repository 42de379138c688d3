package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// mistakes returns what is wrong with b, a line for each, or "". Each is a ConfigError with a way out.
func mistakes(b resilient.Builder) string {
	_, err := b.BuildTransport()
	if err == nil {
		return ""
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return "not joined: " + err.Error()
	}
	for _, e := range joined.Unwrap() {
		c, ok := e.(*resilient.ConfigError) //nolint:errorlint // nor is it wrapped in anything
		if !ok {
			return "not a ConfigError: " + e.Error()
		}
		if c.Fix == "" {
			return "no way out: " + e.Error()
		}
	}
	return err.Error()
}

// alone is a builder whose client shares nothing.
func alone() resilient.Builder { return resilient.New("x").Registry(resilient.NewRegistry()) }

func TestDefaultsMayStandAnywhere(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	retry := []resilient.RetryOption{resilient.MaxRetries(2), resilient.FullJitter}
	total := resilient.Total(4 * time.Second)
	want := resilient.New("x").Defaults(resilient.Conservative).Retry(retry...).Timeout(total).Breaker(resilient.Off).Config()
	for _, b := range []resilient.Builder{
		resilient.New("x").Retry(retry...).Defaults(resilient.Conservative).Timeout(total).Breaker(resilient.Off),
		resilient.New("x").Retry(retry...).Timeout(total).Defaults(resilient.Conservative).Breaker(resilient.Off),
		resilient.New("x").Retry(retry...).Timeout(total).Breaker(resilient.Off).Defaults(resilient.Conservative),
		resilient.New("x").Defaults(resilient.AI).Retry(retry...).Timeout(total).Breaker(resilient.Off).Defaults(resilient.Conservative),
	} {
		is.Equal(b.Config(), want) // the last defaults, and all changes on top
	}
}

func TestLastWordOnASettingCounts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.New("x").
		Retry(resilient.MaxRetries(1), resilient.MaxRetries(2)).Retry(resilient.MaxRetries(7)).
		Timeout(resilient.Total(time.Second)).JSON([]byte(`{"timeout": {"total": "15s"}}`)).
		Config()
	is.Equal(c.Retry.MaxRetries, 7)              // in and across verbs
	is.Equal(c.Timeout.Total, 15*time.Second)    // and documents
	is.Equal(c.Retry.BackoffBase, 2*time.Second) // what was not mentioned is the preset's
}

func TestVerbOnAStrategyThatIsOffSwitchesItOn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	standard, conservative := resilient.Standard.Config(), resilient.Conservative.Config()
	off := resilient.New("x").Defaults(resilient.None)
	is.Equal(off.Retry().Config().Retry, standard.Retry)                   // without options: Standard's values
	is.Equal(off.Breaker().Config().Breaker, standard.Breaker)             // likewise
	is.Equal(off.Concurrency().Config().Concurrency, standard.Concurrency) // likewise
	is.Equal(off.Budget().Config().Budget, conservative.Budget)            // Standard has none: Conservative's
	is.Equal(off.Timeout().Config(), resilient.Config{})                   // timeouts are settings of their own
	is.Equal(off.Idempotency().Config(), resilient.Config{})               // so are those of idempotency

	want := standard.Breaker
	want.FailureRatio = 0.9
	is.Equal(off.Breaker(resilient.FailureRatio(0.9)).Config().Breaker, want)                               // with options on top
	is.Equal(resilient.New("x").Breaker(resilient.Off).Breaker().Config().Breaker, standard.Breaker)        // after Off, too
	is.Equal(resilient.New("x").Defaults(resilient.AI).Retry().Config().Retry, resilient.AI.Config().Retry) // what is on stays
	is.Equal(mistakes(alone().Defaults(resilient.None).Retry().Breaker().Concurrency().Budget()), "")       // and is sound
}

func TestOffAndDefaultAreNeverTheSame(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x").Defaults(resilient.AI).
		Timeout(resilient.Off).Concurrency(resilient.Off).Retry(resilient.Off).Budget(resilient.Off).Breaker(resilient.Off)
	is.Equal(b.Config(), resilient.Config{})                                               // Off leaves zero policies
	is.Equal(b.Config(), resilient.New("x").Defaults(resilient.None).Config())             // that is None
	is.Equal(resilient.New("x").Defaults(resilient.Config{}).Config(), resilient.Config{}) // a zero Config is off, not the default
	is.Equal(resilient.New("x").Defaults(resilient.Conservative).Idempotency(resilient.Off).Config().Idempotency,
		resilient.IdempotencyPolicy{}) // of idempotency, too
}

func TestBuilderIsAValue(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	base := resilient.New("x").Retry(resilient.MaxRetries(2))
	a, b := base.Retry(resilient.FullJitter), base.Retry(resilient.NoJitter)
	is.Equal(base.Config().Retry.Jitter, resilient.Decorrelated) // the base is as it was
	is.Equal(a.Config().Retry.Jitter, resilient.FullJitter)      // each has its own change
	is.Equal(b.Config().Retry.Jitter, resilient.NoJitter)        // and not the other's
	is.Equal(a.Config().Retry.MaxRetries, 2)                     // and the base's
}

// Specialised while others do the same, with room to spare in the slice of edits: an append in place would show.
func TestSpecialisingASharedBaseNeverMixes(t *testing.T) {
	t.Parallel()
	base := resilient.New("x").Defaults(resilient.None)
	for range 20 {
		base = base.Concurrency(resilient.Permits(1))
	}
	const each = 16
	configs := make([]resilient.Config, each)
	var all sync.WaitGroup
	for i := range each {
		all.Go(func() {
			b := base
			for range 5 {
				b = b.Concurrency(resilient.Permits(100 + i)).Retry(resilient.RetryMethods("GET")).JSON([]byte(`{"retry": {"methods": ["PUT"]}}`))
			}
			configs[i] = b.Config()
		})
	}
	all.Wait()
	is := is.New(t)
	for i, c := range configs {
		is.Equal(c.Concurrency.Permits, 100+i)     // its own number
		is.Equal(c.Retry.Methods, []string{"PUT"}) // its own list
	}
}

func TestArgumentsAreCopied(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	methods, statuses, document := []string{"GET"}, []int{500}, []byte(`{"budget": "off"}`)
	options := []resilient.RetryOption{resilient.RetryMethods(methods...)}
	byHand := resilient.Standard.Config()
	byHand.Retry.ExceptMethods = []string{"PUT"}
	existing := &http.Client{Timeout: 5 * time.Second}
	b := resilient.New("x").Retry(options...).Idempotency(resilient.AmbiguousStatuses(statuses...)).JSON(document).Client(existing)
	except := resilient.New("x").Defaults(byHand)
	methods[0], statuses[0], document[0], options[0] = "x", 1, 'x', nil
	byHand.Retry.ExceptMethods[0], existing.Timeout = "x", time.Hour
	is.Equal(mistakes(b.Registry(resilient.NewRegistry())), "")    // the document and the options are as given
	is.Equal(b.Config().Retry.Methods, []string{"GET"})            // so is the list of methods
	is.Equal(b.Config().Idempotency.AmbiguousStatuses, []int{500}) // and of statuses
	is.Equal(except.Config().Retry.ExceptMethods, []string{"PUT"}) // and what is in a Config
	is.Equal(b.Config().Timeout.Total, 5*time.Second)              // and the client

	is.Equal(b.JSON([]byte(`{"retry": {"methods": ["PUT"]}}`)).Config().Retry.Methods, []string{"PUT"}) // a document has a list of its own
	is.Equal(b.Config().Retry.Methods, []string{"GET"})                                                 // and does not write into the other
	b.Config().Retry.Methods[0] = "x"
	is.Equal(b.Config().Retry.Methods, []string{"GET"}) // what Config returns is a copy, too
}

func TestConfigThatWasReadBuildsTheSame(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x").Defaults(resilient.AI).Timeout(resilient.Total(20 * time.Second))
	is.Equal(resilient.New("x").Defaults(b.Config()).Config(), b.Config()) // as a value
	is.Equal(resilient.New("y").Defaults(b).Config(), b.Config())          // as a builder
	is.Equal(resilient.New("y").Defaults(&b).Config(), b.Config())         // behind a pointer
	c, p := b.Config(), resilient.AI
	is.Equal(resilient.New("y").Defaults(&c).Config(), b.Config())            // likewise
	is.Equal(resilient.New("y").Defaults(&p).Config(), resilient.AI.Config()) // likewise
}

// A builder as defaults keeps knowing what came from its preset, which still yields.
func TestBuilderAsDefaultsStillYields(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	base := resilient.New("base").Retry(resilient.MaxRetries(1))
	b := alone().Defaults(base).Timeout(resilient.Total(5 * time.Second))
	is.Equal(mistakes(b), "")                              // Standard's attempt timeout is not the user's
	is.Equal(b.Config().Timeout.PerAttempt, 5*time.Second) // so it yields
	is.Equal(mistakes(alone().Defaults(base.Timeout(resilient.PerAttempt(8*time.Second))).Timeout(resilient.Total(5*time.Second))),
		`resilient: client "x": Timeout(PerAttempt(8s)): must not exceed Timeout(Total(5s)); shorten the attempt or give the call more time`) // the base's own does not
	is.Equal(mistakes(alone().Defaults(base.Retry(nil))), `resilient: client "x": Retry(nil): must not be nil; leave it out, or give one`) // a mistake in it is not lost
}

func TestNilArgumentsAreErrorsNotPanics(t *testing.T) {
	t.Parallel()
	var builder *resilient.Builder
	var config *resilient.Config
	var preset *resilient.Preset
	for want, b := range map[string]resilient.Builder{
		"Defaults(nil)":                      alone().Defaults(nil),
		"Defaults(nil) ":                     alone().Defaults(builder),
		"Defaults(nil)  ":                    alone().Defaults(config),
		"Defaults(nil)   ":                   alone().Defaults(preset),
		"Timeout(nil)":                       alone().Timeout(nil),
		"Concurrency(nil)":                   alone().Concurrency(nil),
		"Retry(nil)":                         alone().Retry(resilient.MaxRetries(1), nil),
		"Budget(nil)":                        alone().Budget(nil),
		"Breaker(nil)":                       alone().Breaker(nil),
		"Idempotency(nil)":                   alone().Idempotency(nil),
		"Client(nil)":                        alone().Client(nil),
		"Transport(nil)":                     alone().Transport(nil),
		"Registry(nil)":                      alone().Registry(nil),
		"Clock(nil)":                         alone().Clock(nil),
		"Observe(nil)":                       alone().Observe(nil),
		"Observe(nil) ":                      alone().Observe(resilient.Slog(nil)),
		"OpenTelemetry(nil)":                 alone().OpenTelemetry(nil),
		"OpenTelemetry(TracerProvider(nil))": alone().OpenTelemetry(resilient.TracerProvider(nil)),
		"OpenTelemetry(MeterProvider(nil))":  alone().OpenTelemetry(resilient.MeterProvider(nil)),
		"OpenTelemetry(Propagator(nil))":     alone().OpenTelemetry(resilient.Propagator(nil)),
		"Retry(RetryIf(nil))":                alone().Retry(resilient.RetryIf(nil)),
		"Retry(BackoffFunc(nil))":            alone().Retry(resilient.BackoffFunc(nil)),
		"Breaker(BreakDurationFunc(nil))":    alone().Breaker(resilient.BreakDurationFunc(nil)),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(mistakes(b), `resilient: client "x": `+strings.TrimSpace(want)+`: must not be nil; leave it out, or give one`) // it is refused by name
		})
	}
}

func TestBuildReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("").Defaults(resilient.Preset(42)).
		Timeout(resilient.PerAttempt(5*time.Millisecond)).
		Concurrency(resilient.Permits(-1)).
		Retry(resilient.MaxRetries(-1), resilient.Backoff(-1, 0)).
		Budget(resilient.RetryRatio(2)).
		Breaker(resilient.FailureRatio(-0.5)).
		Idempotency(resilient.AmbiguousStatuses(42)).
		JSON([]byte(`{"retries": 3}`))
	is.Equal(mistakes(b), strings.Join([]string{
		`resilient: Defaults(Preset(42)): is no preset; there are None, Standard, Conservative and AI`,
		`resilient: JSON(retries): line 1: there is no such setting; did you mean retry?`,
		`resilient: New(""): must not be empty; name the dependency that is called`,
		`resilient: Timeout(PerAttempt(5ms)): must be 10ms to 24h, or 0 for none; the nearest is 10ms`,
		`resilient: Concurrency(Permits(-1)): must be 1 to 2147483647; the nearest is 1`,
		`resilient: Retry(MaxRetries(-1)): must be 0 or more; 0, or Retry(Off), is for none`,
		`resilient: Retry(Backoff(-1ns, 0s)): the base must be 0s to 24h; a base of 0 does not wait`,
		`resilient: Budget(RetryRatio(2)): must be 0 to 1; a tenth is 0.1`,
		`resilient: Breaker(FailureRatio(-0.5)): must be 0 to 1; a tenth is 0.1`,
		`resilient: Idempotency(AmbiguousStatuses(42)): must be 100 to 999; a status has three digits, as 500`,
	}, "\n")) // in the order in which they are typed and checked

	_, err := b.Build()
	var e *resilient.ConfigError
	is.True(errors.As(err, &e)) // each is found by its type
}

func TestMustBuildPanicsWithTheErrorOfBuild(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := alone().Retry(resilient.MaxRetries(-1))
	_, want := b.Build()
	defer func() {
		err, ok := recover().(error)
		is.True(ok)                         // it panics with an error
		is.Equal(err.Error(), want.Error()) // the same one
	}()
	b.MustBuild()
	t.Fatal("it did not panic")
}

func TestFailedBuildReturnsNoClient(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	client, err := alone().Retry(nil).Build()
	is.True(err != nil)    // it fails
	is.True(client == nil) // without a client
	rt, err := alone().Retry(nil).BuildTransport()
	is.True(err != nil) // it fails
	is.True(rt == nil)  // and the interface is nil, not only what is in it
}

func TestNamesArePrintableAndNotTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 101)
	for name, row := range map[string]struct{ name, want string }{
		"empty":        {"", `resilient: New(""): must not be empty; name the dependency that is called`},
		"one letter":   {"a", ""},
		"with a space": {"the inventory", ""},
		"not ASCII":    {"Lagerhaus-Süd", ""},
		"200 bytes":    {long[:200], ""},
		"more":         {long, `resilient: client "` + long + `": New("` + long + `"): must be at most 200 bytes long; shorten it`},
		"a control":    {"a\nb", `resilient: client "a\nb": New("a\nb"): must be printable UTF-8; it is part of events, metrics and errors`},
		"not UTF-8":    {"\xff", `resilient: client "\xff": New("\xff"): must be printable UTF-8; it is part of events, metrics and errors`},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(mistakes(resilient.New(row.name).Registry(resilient.NewRegistry())), row.want) // as the rule says
		})
	}
}

func TestObserversAddUp(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var told []string
	teller := func(name string) resilient.Observer {
		return func(context.Context, resilient.Event) { told = append(told, name) }
	}
	base := alone().Defaults(resilient.None).Transport(answer(200)).Observe(teller("a"))
	both := base.Observe(teller("b"))
	_, err := base.MustBuild().Get("http://x.test/")
	is.NoErr(err) // a call
	for _, name := range told {
		is.Equal(name, "a") // the sibling's observer is not told
	}
	told = nil
	_, err = both.MustBuild().Get("http://x.test/")
	is.NoErr(err)                          // another
	is.Equal(told[:2], []string{"a", "b"}) // both are told, in order
}

// answer is a transport that answers every request with a status.
func answer(status int) http.RoundTripper { return answers(func(*http.Request) int { return status }) }

type answers func(*http.Request) int

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return &http.Response{StatusCode: f(r), Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}
