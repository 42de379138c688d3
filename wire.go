package resilient

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// newTransport makes the transport of a checked draft.
func newTransport(d *draft, pool *shared) *transport {
	t := &transport{base: d.base}
	t.live.Store(settingsOf(d, pipeline.New(pipelineConfig(d, pool))))
	return t
}

// adopt has a transport go by the settings of another draft from its next call on.
func (t *transport) adopt(d *draft, pool *shared) {
	next := t.live.Load().pipeline.Next(pipelineConfig(d, pool))
	t.live.Store(settingsOf(d, next))
}

func settingsOf(d *draft, p *pipeline.Pipeline) *settings {
	return &settings{pipeline: p, rejectAsResponse: d.RejectAsResponse, observers: d.audience()}
}

// pipelineConfig is the one place where the words and numbers of a Config become those
// of a pipeline.
func pipelineConfig(d *draft, pool *shared) pipeline.Config {
	return pipeline.Config{
		Base:              d.base,
		Opaque:            opaque(d.base),
		Clock:             d.clock,
		Pool:              pool,
		Errors:            words{d.name},
		Listen:            listen(d.name, d.audience()),
		Start:             d.start(),
		Total:             d.Timeout.Total,
		TotalIncludesBody: d.Timeout.TotalIncludesBody,
		Attempt:           d.Timeout.PerAttempt,
		BodyIdle:          d.Timeout.BodyIdle,
		Causes:            d.Retry.ReadCauses,
		Concurrency:       d.Concurrency.Permits > 0,
		Route:             routeConfig(d, pool.lanesFor(d.Endpoints.List)),
		Rate:              rateConfig(d.RateLimit),
		Breaker:           breakerConfig(d.Breaker),
		Retry:             retryConfig(d),
		Discard:           pipeline.DiscardConfig{Bytes: discardBytes, Time: discardTime},
		NewKey:            newKey(d.Idempotency),
	}
}

func breakerConfig(p BreakerPolicy) pipeline.BreakerConfig {
	c := pipeline.BreakerConfig{On: !p.off(), UntilRetryAfter: p.BreakUntilRetryAfter, Duration: nil}
	if f := p.BreakDurationFunc; f != nil {
		c.Duration = func(b pipeline.Break) time.Duration { return f(publicBreak(b)) }
	}
	return c
}

func publicBreak(b pipeline.Break) Break {
	return Break{
		FailureRatio: float64(b.Failures) / float64(max(b.Requests, 1)),
		Failures:     int(b.Failures),
		Breaks:       int(b.Breaks),
		Attempt:      publicAttempt(b.Attempt),
	}
}

func retryConfig(d *draft) pipeline.RetryConfig {
	c := pipeline.RetryConfig{
		Max:         d.Retry.MaxRetries,
		Backoff:     backoffs(d.Retry),
		If:          nil,
		Budget:      !d.Budget.off(),
		RetryAfter:  d.Retry.RetryAfter,
		Longest:     d.Retry.MaxRetryAfter,
		Methods:     d.Retry.Methods,
		Except:      d.Retry.ExceptMethods,
		Unprocessed: d.Idempotency.UnprocessedOnly,
		Ambiguous:   d.Idempotency.AmbiguousStatuses,
		BufferLimit: d.Retry.BufferLimit,
	}
	if f := d.Retry.RetryIf; f != nil {
		c.If = func(a pipeline.Attempt) bool { return f(publicAttempt(a)) }
	}
	return c
}

// listen turns the pipeline's events into the public ones, for the observers and for
// the report that a call's context may have. The state's recorder, if it has one, takes them as they are.
func listen(client string, observers []Observer) func(context.Context, *pipeline.State) func(pipeline.Event) {
	return func(ctx context.Context, state *pipeline.State) func(pipeline.Event) {
		report, recorder := newReporter(ctx), state.Recorder()
		if report == nil && len(observers) == 0 {
			return recording(state, recorder)
		}
		return func(e pipeline.Event) {
			if recorder != nil {
				recorder.Record(state.Now(), e)
			}
			public := publicEvent(Source{Client: client, Authority: e.Authority}, e)
			if report != nil {
				report.add(public)
			}
			for _, o := range observers {
				o(ctx, public)
			}
		}
	}
}

func publicEvent(s Source, e pipeline.Event) Event {
	a := publicAttempt(e.Attempt)
	switch e.Kind {
	case pipeline.AttemptDone:
		return AttemptDone{s, a}
	case pipeline.RetryScheduled:
		return RetryScheduled{Source: s, Failed: a, Delay: e.Delay, RetryAfter: e.RetryAfter}
	case pipeline.RetryDenied:
		return RetryDenied{Source: s, Failed: a, Reason: e.Reason.String()}
	case pipeline.Redispatched:
		return Redispatched{Source: s, Failed: a}
	case pipeline.Replayed:
		return TransportReplay{Source: s, During: a}
	case pipeline.Skipped:
		return EndpointSkipped{Source: s, Endpoint: e.Endpoint, Gate: e.Gate.String(), RetryAfter: e.Delay}
	case pipeline.Rejected:
		return Rejected{Source: s, Gate: e.Gate.String(), RetryAfter: e.Delay}
	case pipeline.Waited:
		return Waited{Source: s, Gate: e.Gate.String(), Duration: e.Duration}
	case pipeline.BodyCut:
		return BodyCut{Source: s, Endpoint: e.Endpoint, Request: a.Request, Limit: limitName(e.Limit), After: e.Delay}
	case pipeline.BreakerChanged:
		return BreakerChanged{
			Source: s, Endpoint: e.Endpoint, From: e.Change.From.String(), To: e.Change.To.String(),
			Requests: e.Change.Requests, Failures: e.Change.Failures, Break: e.Change.Break,
		}
	default:
		done := CallDone{Source: s, Request: a.Request, Attempts: e.Attempts, Err: a.Err, Duration: e.Duration}
		if a.Response != nil {
			done.Status = a.Response.StatusCode
		}
		return done
	}
}

func publicAttempt(a pipeline.Attempt) Attempt {
	return Attempt{
		Number: a.Number, Request: a.Request, Response: a.Response, Err: a.Err,
		Transient: a.Transient, Conclusion: Conclusion(a.Conclusion), Endpoint: a.Endpoint, Cause: a.Cause, Sends: a.Sends, Duration: a.Duration,
		Timeout: a.Timeout, Cost: int(a.Cost), Idempotent: a.Idempotent,
	}
}

func rateConfig(p RateLimitPolicy) pipeline.RateConfig {
	c := pipeline.RateConfig{On: !p.off(), PerCall: p.PerCall, Wait: p.Wait, Cost: nil, Settle: p.SettleUsage, Heed: p.HeedServer}
	if f := p.Cost; f != nil {
		c.Cost = func(r *http.Request) int64 { return int64(f(r)) }
	}
	return c
}

func routeConfig(d *draft, lanes []*pipeline.Lane) pipeline.RouteConfig {
	p := d.Endpoints
	endpoints := make([]pipeline.Endpoint, len(p.List))
	for i, e := range p.List {
		base, _ := url.Parse(e.URL) // it has been checked
		endpoints[i] = pipeline.Endpoint{Name: e.name(), URL: base, Header: e.Header, Rewrite: e.Rewrite, Lane: lanes[i]}
	}
	return pipeline.RouteConfig{Endpoints: endpoints, Turns: p.turns(), First: p.Routing == Ordered, Key: p.StickyBy}
}
