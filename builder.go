package resilient

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/jonboulle/clockwork"
)

// A Builder describes a resilient client and builds it. It is a value: every method returns a changed copy and leaves the
// one it is called on as it was, so a builder can be stored, shared and specialised, by several goroutines, too. A result
// that is dropped is lost:
//
//	b := resilient.New("inventory")
//	if patient {
//		b = b.Retry(resilient.MaxRetries(5)) // not just b.Retry(...)
//	}
//
// Changes are recorded and replayed over the defaults: [Builder.Defaults] may stand anywhere in the chain. Otherwise the
// last word on a setting counts. No method fails or panics; Build finds everything that is wrong, at once.
//
// There is one method for each strategy. Used on a strategy that is off it switches it on, with Standard's values (the
// budget with Conservative's), and applies its options, in order; with the option [Off] it switches it off. The timeouts
// are settings of their own, each off at zero, and so are those of idempotency.
//
// The zero Builder has no name, and can't be built: begin with [New].
type Builder struct {
	name  string
	from  origin
	edits []func(*draft)
}

// An origin is what the edits are replayed over.
type origin struct {
	preset Preset // 0 if it is none
	config Config
	given  marks
	faults []ConfigError
}

// New returns a builder of a client with the values of [Standard].
//
// The name is that of the dependency, up to 200 bytes of printable text. It is in every event, metric and error, and
// clients of one name share their state: concurrency limit, retry budget, rate limit and circuit breaker (see
// [Builder.Registry]).
func New(name string) Builder {
	return Builder{name: name, from: origin{preset: Standard, config: Standard.Config()}}
}

// Defaults sets what the other settings are changes to: a [Preset], a [Config] written by hand, or another [Builder],
// whose configuration alone is taken over.
//
// Where a preset's value and one that the builder is told don't fit, the preset's yields, as its attempt timeout does to a
// shorter total timeout; [Builder.Config] shows what it became. All that a Config says is meant, and does not yield.
func (b Builder) Defaults(from Configurer) Builder {
	switch from := pointedTo(from).(type) {
	case nil:
		return b.edit(func(d *draft) { d.refuseNil("Defaults(%s)") })
	case Preset:
		if !from.exists() {
			return b.edit(func(d *draft) {
				d.refuse("Defaults(%s)", from.String(), "is no preset", "there are None, Standard, Conservative and AI")
			})
		}
		b.from = origin{preset: from, config: from.Config()}
	case Builder:
		d := from.draft()
		b.from = origin{preset: d.preset, config: d.Config, given: d.given, faults: d.faults}
	default:
		config := from.Config().Config() // a copy: whoever made it may keep its slices
		b.from = origin{config: config, given: givenIn(config)}
	}
	return b
}

// pointedTo looks through the pointers that are a Configurer only because what they point to is one.
func pointedTo(from Configurer) Configurer {
	switch pointer := from.(type) {
	case *Preset:
		if pointer != nil {
			return *pointer
		}
	case *Config:
		if pointer != nil {
			return *pointer
		}
	case *Builder:
		if pointer != nil {
			return *pointer
		}
	default:
		return from
	}
	return nil
}

// Off is an option of every strategy, and switches it off: Retry(resilient.Off).
const Off off = 0

type off int

// Timeout changes how long the call, each attempt, and a body that stands still may take: with [Total], [PerAttempt],
// [BodyIdle] and [TotalIncludesBody], or [Off].
func (b Builder) Timeout(options ...TimeoutOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyTimeout(options) })
}

// Concurrency changes how many calls may run at once, with [Permits], and wait for their turn, with [Queue]; or [Off].
func (b Builder) Concurrency(options ...ConcurrencyOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyConcurrency(options) })
}

// Retry changes which attempts are repeated, how often, and how long to wait in between; or [Off]. The options are
//
//   - how often: [MaxRetries]
//   - the waits: [Backoff] or [BackoffFunc], with [Decorrelated], [FullJitter] or [NoJitter]
//   - what the server asks for: [RetryAfter], [MaxRetryAfter], [ReadCauses]
//   - which: [RetryMethods], [ExceptMethods], [SafeMethodsOnly], [RetryIf]
//   - how much of a body is kept to be sent again: [BufferLimit]
//
// Whether a request that may have been processed is sent again is for [Builder.Idempotency] to say.
func (b Builder) Retry(options ...RetryOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyRetry(options) })
}

// Budget changes which share of the calls retries may come to: with [RetryRatio], [SamplingDuration], [MinimumThroughput],
// [LowVolumeRetries] and [BudgetName], or [Off].
func (b Builder) Budget(options ...BudgetOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyBudget(options) })
}

// RateLimit changes how much may be sent over time, with [PerSecond] or [PerMinute], and [Burst]; or [Off]. [Wait] has
// attempts wait for their tokens, and [Cost], [PerCall], [SettleUsage] and [HeedServer] say what they take.
func (b Builder) RateLimit(options ...RateLimitOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyRateLimit(options) })
}

// Endpoints sets the places that attempts are spread over, instead of those that were set before.
func (b Builder) Endpoints(by RoutingOption, endpoints ...Endpoint) Builder {
	endpoints = EndpointPolicy{List: endpoints}.clone().List
	return b.edit(func(d *draft) { d.applyEndpoints(by, EndpointPolicy{List: endpoints}.clone().List) })
}

// Breaker changes when the circuit opens, with [FailureRatio], [MinimumThroughput] and [SamplingDuration], and for how
// long, with [BreakDuration], [BreakDurationFunc] and [BreakUntilRetryAfter]; or [Off].
func (b Builder) Breaker(options ...BreakerOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyBreaker(options) })
}

// Idempotency changes how requests are treated that may do harm when they are processed twice, such as a POST.
// [UnprocessedOnly] retries one only if it was certainly not processed, and [AmbiguousStatuses] says after which statuses
// that is not certain; [GenerateKeys] gives it an Idempotency-Key, for a server that heeds one. [Off] retries all alike. A
// single call is marked as safe to repeat with [Replayable].
func (b Builder) Idempotency(options ...IdempotencyOption) Builder {
	options = slices.Clone(options)
	return b.edit(func(d *draft) { d.applyIdempotency(options) })
}

// PerAuthority keeps concurrency limit, budget, rate limit and breaker for each authority (scheme, host and port) by itself,
// for a client that calls many hosts: one that fails must not open the circuit to the others.
func (b Builder) PerAuthority() Builder {
	return b.edit(func(d *draft) { d.PerAuthority = true })
}

// RejectAsResponse makes a call that is refused end with a response instead of a [RejectedError]: status 429 if it is by
// the rate limit, else 503, with Retry-After, and a body in JSON that says why. For SDKs, which understand that better.
func (b Builder) RejectAsResponse() Builder {
	return b.edit(func(d *draft) { d.RejectAsResponse = true })
}

// JSON applies a document, as the methods for the strategies that it mentions would: what it leaves out stays as it is,
// and a strategy that is off is switched on. It has the form of [Config.MarshalJSON].
//
//	{"timeout": {"total": "20s"}, "retry": {"maxRetries": 2, "jitter": "full"}, "breaker": "off"}
//
// It is strict: what is unknown, given twice, or of another type is an error that names the place.
func (b Builder) JSON(document []byte) Builder {
	document = bytes.Clone(document)
	return b.edit(func(d *draft) { d.applyDocument(document) })
}

// Client builds around a client that exists: the new one has its cookie jar, its CheckRedirect and its transport. The
// Timeout becomes the total timeout, body included, unless [Total] is set. The existing client is copied, not changed.
func (b Builder) Client(existing *http.Client) Builder {
	if existing == nil {
		return b.edit(func(d *draft) { d.refuseNil("Client(%s)") })
	}
	client := *existing
	return b.edit(func(d *draft) { d.client = &client })
}

// Transport sets what attempts are dispatched to, instead of the transport of the client to build around, or of
// [http.DefaultTransport] as it is when the client is built.
func (b Builder) Transport(base http.RoundTripper) Builder {
	return b.edit(func(d *draft) {
		if base == nil {
			d.refuseNil("Transport(%s)")
		}
		d.base = base
	})
}

// Registry sets where the client finds the state that it shares with others of its name: [DefaultRegistry] unless set.
// Tests had better make their own.
func (b Builder) Registry(registry *Registry) Builder {
	return b.edit(func(d *draft) {
		if registry == nil {
			d.refuseNil("Registry(%s)")
		}
		d.registry = registry
	})
}

// Clock sets the clock that timeouts, waits and windows go by: the real one unless set. Clients that share state need the
// same one.
func (b Builder) Clock(clock clockwork.Clock) Builder {
	return b.edit(func(d *draft) {
		if clock == nil {
			d.refuseNil("Clock(%s)")
		}
		d.clock = clock
	})
}

// Observe adds an observer. All are told every decision, in the order in which they were added.
func (b Builder) Observe(observer Observer) Builder {
	return b.edit(func(d *draft) {
		if observer == nil {
			d.refuseNil("Observe(%s)")
			return
		}
		d.observers = append(d.observers, observer)
	})
}

// Config returns what will be built: the defaults with all changes, and with what a preset had to yield. It may be
// invalid; that is for Build to say.
func (b Builder) Config() Config { return b.draft().Config.Config() }

// Build returns the client, or every violation of a rule, joined: each is a [*ConfigError]. The client's Timeout is 0; one
// that is set on it later works as on any client.
func (b Builder) Build() (*http.Client, error) {
	d, transport, err := b.build()
	if err != nil {
		return nil, err
	}
	client := &http.Client{}
	if d.client != nil {
		*client = *d.client
	}
	client.Transport, client.Timeout = transport, 0
	return client, nil
}

// MustBuild is Build for settings that are known when the program is written. It panics where Build returns an error.
func (b Builder) MustBuild() *http.Client {
	client, err := b.Build()
	if err != nil {
		panic(err) //nolint:forbidigo // this is the one that does
	}
	return client
}

// BuildTransport returns only the transport of the client that Build would return, for those who take no more. All that
// makes a client resilient is in it.
func (b Builder) BuildTransport() (http.RoundTripper, error) {
	_, transport, err := b.build()
	if err != nil {
		return nil, err // not transport, which is nil but would not look it
	}
	return transport, nil
}

func (b Builder) build() (*draft, *transport, error) {
	d := b.draft()
	if err := d.check(); err != nil {
		return nil, nil, err
	}
	d.complete()
	d, t, err := d.registry.admit(b, d)
	if err == nil && d.telemetry != nil {
		d.telemetry.show(d.registry)
	}
	return d, t, err
}

// edit returns a copy of b with one more edit. The slice is clipped, for a sibling with the same edits must not see it.
func (b Builder) edit(e func(*draft)) Builder {
	b.edits = append(slices.Clip(b.edits), e)
	return b
}

// draft replays the edits over the defaults.
func (b Builder) draft() *draft {
	d := &draft{
		Config: b.from.config.Config(),
		name:   b.name,
		preset: b.from.preset,
		given:  b.from.given,
		faults: slices.Clone(b.from.faults),
	}
	for _, e := range b.edits {
		e(d)
	}
	d.settle()
	return d
}
