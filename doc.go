// Package resilient makes an [http.Client] that keeps a dependency's bad minute
// from becoming your outage.
//
//	client, err := resilient.New("inventory").
//		Defaults(resilient.Conservative).
//		Retry(resilient.MaxRetries(2), resilient.Backoff(200*time.Millisecond, 2*time.Second)).
//		Build()
//
// Everything is in the client's Transport, so it can be given to an SDK, wrapped,
// and used like any other. [Builder] has a method for each strategy, a [Preset]
// sets all of them at once, and Build reports every setting that is out of range.
//
// The presets are [Conservative], for what takes orders; [Standard], for calls that may
// be made again, which [New] begins with; [AI], for slow calls under a quota; and [None].
//
// Guides, a page for each strategy, and evidence are in the repository's docs:
// https://github.com/a-seed-e0941262/resilient/tree/main/docs
//
// # How it differs from http.DefaultClient
//
//   - Calls have a total timeout and each attempt one of its own, both until
//     response headers: a body that flows is never cut.
//   - The number of calls under way is limited; a call counts until its body ends.
//   - What may pass is retried: status 408, 429 and 500 and above except 501 and
//     505, connections that fail, attempts that time out. What can't be mended by
//     asking again is not: a certificate, a malformed request, another 4xx.
//   - With a budget, retries are at most a share of the calls of all clients of
//     that name, over a sliding window.
//   - With [UnprocessedOnly], a request that is not idempotent is repeated only if
//     the server has certainly not processed it.
//   - A dependency that keeps failing is left alone for a while.
//   - net/http does not send a request with a body again on its own.
//
// All else is as net/http has it. A final 503 is a response with its body unread.
// An error of the transport is that error. The request is never changed, its
// body is closed once, whatever happens. Redirects are followed by the
// http.Client, above all this: each hop is a call.
//
// # The order
//
// Outermost first: total timeout, concurrency limit, retry with its budget,
// endpoints, rate limit, circuit breaker, attempt timeout, transport. So a call
// holds one permit however often it is retried, the breaker sees every attempt,
// and waits count towards the total. A strategy that is off costs nothing.
//
// The strategies, with the methods of [Builder] and their settings:
//
//	Timeout      TimeoutPolicy      bounds a call, each attempt, and a body that stands still
//	Concurrency  ConcurrencyPolicy  bounds the calls under way
//	Retry        RetryPolicy        repeats what may pass, after a backoff or Retry-After
//	Budget       BudgetPolicy       bounds retries to a share of the calls
//	Idempotency  IdempotencyPolicy  repeats a POST only if it was certainly not processed
//	Endpoints    EndpointPolicy     spreads attempts over several places
//	RateLimit    RateLimitPolicy    bounds what is sent over time
//	Breaker      BreakerPolicy      stops asking what keeps failing
//
// [Config] has all of them as a value. Settings may also come from a document, with
// [Builder.JSON], and change while clients are in use, with [Registry.Apply]. The form of
// documents is in docs/schema, for editors.
//
// # Shared state
//
// Clients of one name share the concurrency limit, the budget, the breaker and the
// rate limit, in a [Registry]. With [Builder.PerAuthority] each host has its own;
// that is what a client for many hosts wants. [Registry.Snapshot] shows it all.
//
// # Single calls
//
// A context changes what holds for the calls made with it: [Replayable],
// [WithoutRetries], [WithAttemptTimeout], [WithCost]. [WithReport] writes down what
// became of them.
//
// # What is not HTTP
//
// [Builder.BuildPipeline] and [Execute] run a function with the same strategies and
// the same shared state.
//
// # Errors
//
// All are found with [errors.Is] and [errors.As] through the [*url.Error] of the client.
//
//	ErrCircuitOpen       not sent: the breaker is open        wait for RejectedError.RetryAfter, or answer without
//	ErrConcurrencyLimit  not sent: too many calls under way   shed load, or raise Permits
//	ErrRateLimited       not sent: too few tokens             wait for RejectedError.RetryAfter
//	ErrNoEndpoint        not sent: each endpoint refuses      wait for RejectedError.RetryAfter, or answer without
//	ErrAttemptTimeout    the last attempt had no answer       it may have been processed
//	ErrTotalTimeout      the call had no answer in time       it may have been processed
//	ErrBodyIdle          from reading the body: it stalled    what was read is not all
//	*RejectedError       says which gate refused, and until when
//	*ConfigError         from Build: a setting, its rule, and the way out
//
// A caller who cancels, or whose deadline passes, gets the context's own error.
//
// # Seeing why
//
// [Builder.Observe] is told every decision, as an [Event]: each attempt, each retry and
// why one was denied, each refusal, each change of a breaker. [Slog] makes log lines of
// them, [Builder.OpenTelemetry] spans and metrics. [WithReport] writes down what became
// of the calls made with one context. [Registry.Snapshot] shows the shared state, and
// [Registry.Handler] a page that says why each client is not retrying.
//
// Nothing is logged and nothing is measured unless asked for.
//
// # Testing
//
// Package httptestx is a server that fails on demand, for tests of code that
// uses this package or any other client.
package resilient
