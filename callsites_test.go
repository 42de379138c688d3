package resilient_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// The chains here are those that the package was designed from. That they compile as they are typed is half of the test.
func TestEveryCallSiteBuilds(t *testing.T) {
	t.Parallel()
	existing := &http.Client{Timeout: time.Minute}
	myRoundTripper := http.RoundTripper(&http.Transport{})
	observer := func(context.Context, resilient.Event) {}
	section := []byte(`{"retry": {"maxRetries": 2}, "breaker": "off"}`)
	for name, b := range map[string]resilient.Builder{
		"one named dependency": resilient.New("inventory").
			Defaults(resilient.Conservative).
			Retry(resilient.MaxRetries(2), resilient.Backoff(200*time.Millisecond, 2*time.Second)),
		"many hosts": resilient.New("default").PerAuthority(),
		"a budget on top": resilient.New("inventory").Budget(resilient.RetryRatio(0.05),
			resilient.SamplingDuration(30*time.Second), resilient.MinimumThroughput(100)),
		"a preset, one knob changed": resilient.New("pricing").Defaults(resilient.Conservative).
			Budget(resilient.RetryRatio(0.02)),
		"a preset, overridden from a document": resilient.New("catalog").Defaults(resilient.Conservative).JSON(section),
		"retries and a budget only": resilient.New("legacy").Defaults(resilient.None).
			Retry(resilient.MaxRetries(1)).Budget(resilient.RetryRatio(0.05)),
		"one strategy off":          resilient.New("payments").Defaults(resilient.Conservative).Retry(resilient.Off),
		"around a client":           resilient.New("inventory").Client(existing),
		"around a transport":        resilient.New("inventory").Transport(myRoundTripper),
		"quota-bound AI calls":      resilient.New("azure-openai").Defaults(resilient.AI),
		"every strategy's own verb": everyVerb(observer, resilient.NewRegistry(), clockwork.NewFakeClock()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := b.Registry(resilient.NewRegistry()) // the name is the same in many of them
			client, err := b.Build()
			is.NoErr(err)          // it builds
			is.True(client != nil) // there is a client
			rt, err := b.BuildTransport()
			is.NoErr(err)      // a second time, and only the transport
			is.True(rt != nil) // there is a transport
		})
	}
}

func everyVerb(observer resilient.Observer, registry *resilient.Registry, clock clockwork.Clock) resilient.Builder {
	return resilient.New("inventory").
		Timeout(resilient.Total(20*time.Second), resilient.PerAttempt(5*time.Second), resilient.BodyIdle(30*time.Second)).
		Concurrency(resilient.Permits(200), resilient.Queue(50)).
		Retry(resilient.MaxRetries(2), resilient.Backoff(100*time.Millisecond, 2*time.Second), resilient.ExceptMethods("POST")).
		Budget(resilient.RetryRatio(0.1), resilient.LowVolumeRetries(1)).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(20), resilient.SamplingDuration(30*time.Second),
			resilient.BreakDuration(5*time.Second)).
		Idempotency(resilient.GenerateKeys).
		Observe(observer).
		Registry(registry).Clock(clock)
}

func TestEveryVerbSetsWhatItSays(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	got := everyVerb(func(context.Context, resilient.Event) {}, resilient.NewRegistry(), clockwork.NewFakeClock()).Config()
	is.Equal(got, resilient.Config{
		Timeout:     resilient.TimeoutPolicy{Total: 20 * time.Second, PerAttempt: 5 * time.Second, BodyIdle: 30 * time.Second},
		Concurrency: resilient.ConcurrencyPolicy{Permits: 200, Queue: 50},
		Retry: resilient.RetryPolicy{
			MaxRetries: 2, BackoffBase: 100 * time.Millisecond, BackoffCap: 2 * time.Second,
			Jitter: resilient.Decorrelated, RetryAfter: true, ExceptMethods: []string{"POST"}, BufferLimit: 64 << 10,
		},
		Budget: resilient.BudgetPolicy{
			RetryRatio: 0.1, SamplingDuration: 30 * time.Second, MinimumThroughput: 100, LowVolumeRetries: 1,
		},
		Breaker: resilient.BreakerPolicy{
			FailureRatio: 0.5, MinimumThroughput: 20, SamplingDuration: 30 * time.Second, BreakDuration: 5 * time.Second,
		},
		Idempotency: resilient.IdempotencyPolicy{GenerateKeys: true},
	}) // each option sets its field, and the rest is Standard's
}

func TestClientKeepsWhatTheExistingOneHas(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	jar, err := cookiejar.New(nil)
	is.NoErr(err) // a jar
	base := &http.Transport{}
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	existing := &http.Client{Transport: base, CheckRedirect: stop, Jar: jar, Timeout: 7 * time.Second}
	before := *existing

	b := resilient.New("inventory").Registry(resilient.NewRegistry()).Client(existing)
	got, err := b.Build()
	is.NoErr(err)                                                                          // it builds
	is.Equal(got.Jar, http.CookieJar(jar))                                                 // the jar is kept
	is.Equal(got.CheckRedirect(nil, nil), http.ErrUseLastResponse)                         // so is CheckRedirect
	is.Equal(got.Timeout, time.Duration(0))                                                // the Timeout is not: it would cost two goroutines
	is.Equal(unwrap(got.Transport), http.RoundTripper(base))                               // the transport is what attempts go to
	is.Equal(b.Config().Timeout.Total, 7*time.Second)                                      // the Timeout is the total timeout instead
	is.True(b.Config().Timeout.TotalIncludesBody)                                          // with the body, as it was
	is.Equal(b.Config().Timeout.PerAttempt, 7*time.Second)                                 // the preset's attempt timeout yields to it
	is.Equal(existing.Transport, before.Transport)                                         // the existing client is as it was
	is.Equal(existing.Timeout, before.Timeout)                                             // in its Timeout, too
	is.True(got != existing)                                                               // it is another client
	is.Equal(unwrap(defaultTransport(t, b.Client(&http.Client{}))), http.DefaultTransport) // without a transport it is the default one
}

func defaultTransport(t *testing.T, b resilient.Builder) http.RoundTripper {
	t.Helper()
	rt, err := b.BuildTransport()
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func unwrap(rt http.RoundTripper) http.RoundTripper {
	return rt.(interface{ Unwrap() http.RoundTripper }).Unwrap()
}

func TestTransportWinsOverTheClientsWhateverTheOrder(t *testing.T) {
	t.Parallel()
	own, clients := &http.Transport{}, &http.Transport{}
	b := resilient.New("inventory").Registry(resilient.NewRegistry())
	for name, b := range map[string]resilient.Builder{
		"before": b.Transport(own).Client(&http.Client{Transport: clients}),
		"after":  b.Client(&http.Client{Transport: clients}).Transport(own),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			client, err := b.Build()
			is.NoErr(err)                                              // it builds
			is.Equal(unwrap(client.Transport), http.RoundTripper(own)) // the one given by itself
		})
	}
}

func TestClientTimeoutBecomesTotalUnlessTotalIsSet(t *testing.T) {
	t.Parallel()
	existing := &http.Client{Timeout: 40 * time.Second}
	b := resilient.New("inventory")
	byHand := resilient.Standard.Config()
	byHand.Timeout = resilient.TimeoutPolicy{PerAttempt: 3 * time.Second}
	for name, row := range map[string]struct {
		b    resilient.Builder
		want resilient.TimeoutPolicy
	}{
		"over a preset": {
			b.Client(existing),
			resilient.TimeoutPolicy{Total: 40 * time.Second, PerAttempt: 10 * time.Second, TotalIncludesBody: true},
		},
		"with everything off": {
			b.Client(existing).Defaults(resilient.None),
			resilient.TimeoutPolicy{Total: 40 * time.Second, TotalIncludesBody: true},
		},
		"without a Timeout": {
			b.Client(&http.Client{}),
			resilient.TimeoutPolicy{Total: 30 * time.Second, PerAttempt: 10 * time.Second},
		},
		"with a negative one, which net/http takes for none": {
			b.Client(&http.Client{Timeout: -1}),
			resilient.TimeoutPolicy{Total: 30 * time.Second, PerAttempt: 10 * time.Second},
		},
		"with Total before": {
			b.Timeout(resilient.Total(20 * time.Second)).Client(existing),
			resilient.TimeoutPolicy{Total: 20 * time.Second, PerAttempt: 10 * time.Second},
		},
		"with Total after": {
			b.Client(existing).Timeout(resilient.Total(20 * time.Second)),
			resilient.TimeoutPolicy{Total: 20 * time.Second, PerAttempt: 10 * time.Second},
		},
		"with Total in a document": {
			b.JSON([]byte(`{"timeout": {"total": "20s"}}`)).Client(existing),
			resilient.TimeoutPolicy{Total: 20 * time.Second, PerAttempt: 10 * time.Second},
		},
		"with the timeouts off": {
			b.Client(existing).Timeout(resilient.Off),
			resilient.TimeoutPolicy{},
		},
		"without the body, when that is said": {
			b.Client(existing).Timeout(resilient.TotalIncludesBody(false)),
			resilient.TimeoutPolicy{Total: 40 * time.Second, PerAttempt: 10 * time.Second},
		},
		"over a Config with a total": {
			b.Client(existing).Defaults(resilient.Standard.Config()),
			resilient.TimeoutPolicy{Total: 30 * time.Second, PerAttempt: 10 * time.Second},
		},
		"over a Config without a total": {
			b.Client(existing).Defaults(byHand),
			resilient.TimeoutPolicy{Total: 40 * time.Second, PerAttempt: 3 * time.Second, TotalIncludesBody: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(row.b.Config().Timeout, row.want) // what the timeouts became
		})
	}
}

func TestTimeoutSetLaterOnTheBuiltClientIsLeftAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	client := resilient.New("inventory").Registry(resilient.NewRegistry()).MustBuild()
	is.Equal(client.Timeout, time.Duration(0)) // it has none
	client.Timeout = time.Second               // and is a client as any other
}

func TestDefaultRegistryIsSharedByAllWhoNameNone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const name = "shared through the process's registry"
	_, err := resilient.New(name).Build()
	is.NoErr(err) // the first
	_, err = resilient.New(name).Registry(resilient.DefaultRegistry()).Breaker(resilient.FailureRatio(0.9)).Build()
	is.True(err != nil)                                 // the second finds the first one's breaker
	is.NoErr(resilient.DefaultRegistry().Isolate(name)) // it can be held open
	is.NoErr(resilient.DefaultRegistry().Release(name)) // and let go
}
