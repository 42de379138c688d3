package resilient_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A subject is a client whose diagnosis is looked at, in virtual time.
type subject struct {
	*testing.T
	*resilient.Registry
	status     int           // that the server answers with; 0: nothing, ever
	retryAfter string        // that it answers with
	fails      string        // the host that fails; empty: all
	takes      time.Duration // the time that an answer takes
	ill        int           // how many answers are 503 before
	client     *http.Client
}

func (p *subject) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if p.status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	time.Sleep(p.takes)
	resp := &http.Response{StatusCode: p.status, Body: io.NopCloser(strings.NewReader("text")), Header: http.Header{}, Request: r}
	if p.ill > 0 {
		p.ill--
		resp.StatusCode = 503
	}
	if p.fails != "" && r.URL.Hostname() != p.fails {
		resp.StatusCode = 200
	} else if p.retryAfter != "" {
		resp.Header.Set("Retry-After", p.retryAfter)
	}
	return resp, nil
}

// build builds the client, which retries at once.
func (p *subject) build(more ...func(resilient.Builder) resilient.Builder) {
	b := in(p.Registry, "x").Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0))
	for _, f := range more {
		b = f(b)
	}
	p.client = b.Transport(p).MustBuild()
}

// call calls so often, and closes the bodies.
func (p *subject) call(n int) { p.callWith(p.Context(), "GET", n) }

func (p *subject) callWith(ctx context.Context, method string, n int) {
	for range n {
		if resp := p.open(ctx, method); resp != nil {
			resp.Body.Close()
		}
	}
}

func (p *subject) open(ctx context.Context, method string) *http.Response {
	var body io.Reader
	if method != "GET" {
		body = struct{ io.Reader }{strings.NewReader("body")} // without GetBody
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://x.test/", body)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil
	}
	return resp
}

type building = func(resilient.Builder) resilient.Builder

func budget(options ...resilient.BudgetOption) building {
	return func(b resilient.Builder) resilient.Builder { return b.Budget(options...) }
}

func breaker(options ...resilient.BreakerOption) building {
	return func(b resilient.Builder) resilient.Builder {
		return b.Breaker(append([]resilient.BreakerOption{resilient.MinimumThroughput(4), resilient.FailureRatio(0.5)}, options...)...)
	}
}

func retries(options ...resilient.RetryOption) building {
	return func(b resilient.Builder) resilient.Builder { return b.Retry(options...) }
}

// The sentences are what this is all about, so they stand here whole: the first one of each client, and what comes next.
//
//nolint:bodyclose // of what is open the body is
var diagnoses = []struct {
	name    string
	arrange func(p *subject)
	level   string
	reason  string
	says    string
	next    string
}{
	{
		"isolated", func(p *subject) { p.build(breaker()); p.call(1); _ = p.Isolate("x") }, "trouble", "isolated",
		"No attempts, no retries: the circuit breaker is held open by hand, until somebody releases it.", "",
	},
	{
		"circuit open", func(p *subject) {
			p.build(breaker())
			p.call(2)
			time.Sleep(1500 * time.Millisecond)
		}, "trouble", "circuit_open",
		"No attempts, no retries: the circuit breaker is open for 3.5 s more, since 4 of 4 attempts in 30 s failed.",
		"Then one attempt is let through as a probe: if it succeeds, all goes on; if it fails, the circuit stays open.",
	},
	{
		"circuit opened again by a probe", func(p *subject) {
			p.build(breaker())
			p.call(2)
			time.Sleep(6 * time.Second)
			p.call(1)
		}, "trouble", "circuit_open",
		"No attempts, no retries: the circuit breaker is open for 5 s more, since 4 of 4 attempts in 30 s failed.",
		"Then one attempt is let through as a probe: if it succeeds, all goes on; if it fails, the circuit stays open.",
	},
	{
		"break over", func(p *subject) {
			p.build(breaker())
			p.call(2)
			time.Sleep(5 * time.Second)
		}, "watch", "circuit_half_open",
		"One attempt only: the circuit breaker was open, and lets the next attempt through as a probe.",
		"If the probe succeeds, the circuit closes and all goes on. If it fails, the circuit is open again.",
	},
	{
		"probe under way", func(p *subject) {
			p.build(breaker())
			p.call(2)
			time.Sleep(5 * time.Second)
			p.takes = time.Second
			go p.call(1)
			synctest.Wait()
		}, "watch", "circuit_half_open",
		"One attempt only: the circuit breaker was open, and one attempt is on its way as a probe. All others are refused meanwhile.",
		"If the probe succeeds, the circuit closes and all goes on. If it fails, the circuit is open again.",
	},
	{
		"no endpoint", func(p *subject) {
			p.status, p.retryAfter = 429, "20"
			p.build(retries(resilient.RetryAfter(true)), endpoints)
			p.call(1)
			time.Sleep(time.Second)
		}, "trouble", "no_endpoint",
		"No attempts, no retries: none of the 2 endpoints is available: east (has asked to be left alone for 19 s), west (has asked to be left alone for 19 s).",
		"Each is used again as soon as that is over.",
	},
	{
		"one endpoint less", func(p *subject) {
			p.fails = "east.test"
			p.build(breaker(resilient.MinimumThroughput(2)), endpoints)
			p.call(3)
		}, "watch", "endpoint_out",
		"Fewer endpoints: 1 of 2 endpoints not in use: east (circuit open for 5 s more, since 2 of 2 attempts in 30 s failed).",
		"The others serve all attempts, the retries among them.",
	},
	{
		"budget exhausted", func(p *subject) {
			p.build(budget(resilient.RetryRatio(0.1), resilient.MinimumThroughput(1)))
			p.call(120)
		}, "trouble", "budget_exhausted",
		"No retries: the budget is exhausted: 12 of 12 retries were used in the last 30 s (10 % of 120 calls).",
		"108 retries were not made for that in the last minute. An attempt that fails is not repeated until older retries are more than 30 s ago, or more calls allow more.",
	},
	{
		"budget exhausted with nothing denied", func(p *subject) {
			p.build(budget(resilient.LowVolumeRetries(2)))
			p.call(2)
		}, "watch", "budget_exhausted",
		"No retries: the budget is exhausted: 2 of 2 retries were used in the last 30 s (so many are allowed however few calls there are).",
		"An attempt that fails is not repeated until older retries are more than 30 s ago, or more calls allow more.",
	},
	{
		"budget allows none", func(p *subject) {
			p.build(budget(resilient.RetryRatio(0.1), resilient.MinimumThroughput(1)))
			p.call(9)
		}, "trouble", "budget_exhausted",
		"No retries: the budget is exhausted: 10 % of 9 calls in the last 30 s allow no retry.",
		"9 retries were not made for that in the last minute. An attempt that fails is not repeated until older retries are more than 30 s ago, or more calls allow more.",
	},
	{
		"budget overdrawn when the minimum was reached", func(p *subject) {
			p.build(budget(resilient.RetryRatio(0.1), resilient.MinimumThroughput(10)))
			p.call(9)
			p.status = 200
			p.call(1)
		}, "watch", "budget_exhausted",
		"No retries: the budget is exhausted: 9 retries were made in the last 30 s, and 1 is allowed (10 % of 10 calls).",
		"An attempt that fails is not repeated until older retries are more than 30 s ago, or more calls allow more.",
	},
	{
		"permits in use", func(p *subject) {
			p.status = 200
			p.build(limit(2, 0))
			p.open(p.Context(), "GET")
			p.open(p.Context(), "GET")
		}, "trouble", "concurrency_limit",
		"Further calls are refused: 2 of 2 permits are in use, and there is no queue.", "",
	},
	{
		"a call in the queue", func(p *subject) {
			p.status = 200
			p.build(limit(1, 3))
			resp := p.open(p.Context(), "GET")
			go p.call(1)
			synctest.Wait()
			time.AfterFunc(time.Second, func() { resp.Body.Close() })
		}, "watch", "concurrency_queue",
		"Calls wait: 1 of 1 permit is in use, and 1 call waits for one. There is room for 3.", "",
	},
	{
		"no tokens", func(p *subject) { p.status = 200; p.build(rate(resilient.Burst(3))); p.call(4) }, "trouble", "rate_limited",
		"Attempts and retries are refused: the rate limit has no tokens left (0 of 3).", "Tokens flow back by themselves.",
	},
	{
		"no tokens, but patience", func(p *subject) {
			p.status = 200
			p.build(rate(resilient.Burst(3), resilient.Wait(2*time.Second)))
			p.call(3)
		}, "watch", "rate_limited",
		"Attempts and retries wait: the rate limit has no tokens left (0 of 3).",
		"They wait for up to 2 s, and are refused if it would take longer.",
	},
	{
		"retries off", func(p *subject) { p.build(retries(resilient.Off)); p.call(3) }, "watch", "off",
		"No retries: retries are switched off for this client.",
		"3 attempts in the last minute failed in a way that a retry might have mended.",
	},
	{
		"retries off and all well", func(p *subject) { p.status = 200; p.build(retries(resilient.Off)); p.call(3) }, "fine", "off",
		"No retries: retries are switched off for this client.", "",
	},
	{
		"ambiguous", func(p *subject) {
			p.status = 502
			p.build(func(b resilient.Builder) resilient.Builder { return b.Idempotency(resilient.UnprocessedOnly) })
			p.callWith(p.Context(), "POST", 3)
		}, "watch", "ambiguous",
		"No retries: 3 retries were not made in the last minute: the server may have processed the request, and to send it again could do it twice.", "",
	},
	{
		"method", func(p *subject) {
			p.build(retries(resilient.ExceptMethods("GET")))
			p.call(1)
		}, "watch", "method",
		"No retries: 1 retry was not made in the last minute: requests with this method are not to be repeated (RetryMethods, ExceptMethods or SafeMethodsOnly).", "",
	},
	{
		"body", func(p *subject) { p.build(retries(resilient.BufferLimit(0))); p.callWith(p.Context(), "PUT", 1) }, "watch", "body",
		"No retries: 1 retry was not made in the last minute: the body of the request cannot be sent again.", "",
	},
	{
		"retry after", func(p *subject) {
			p.retryAfter = "60"
			p.build(retries(resilient.RetryAfter(true), resilient.MaxRetryAfter(10*time.Second)))
			p.call(1)
		}, "watch", "retry_after",
		"No retries: 1 retry was not made in the last minute: the server asked for a longer wait than is accepted.", "",
	},
	{
		"deadline", func(p *subject) {
			p.build(retries(resilient.Backoff(5*time.Second, 0), resilient.NoJitter), total)
			p.call(1)
		}, "watch", "deadline",
		"No retries: 1 retry was not made in the last minute: the wait before it did not fit into the time that was left.", "",
	},
	{
		"caller wants none", func(p *subject) {
			p.build()
			p.callWith(resilient.WithoutRetries(p.Context()), "GET", 1)
		}, "watch", "disabled",
		"No retries: 1 retry was not made in the last minute: the caller wanted none (WithoutRetries).", "",
	},
	{
		"all retries used", func(p *subject) { p.build(retries(resilient.MaxRetries(2))); p.call(2) }, "watch", "attempts",
		"Retries do not help: 2 calls in the last minute failed though 2 retries were made.", "",
	},
	{
		"circuit was open", func(p *subject) {
			p.build(breaker(), retries(resilient.MaxRetries(9)))
			p.call(1)
			p.status = 200
			time.Sleep(6 * time.Second)
			p.call(1)
		}, "watch", "circuit_open",
		"Not every retry is made: 1 retry was not made in the last minute: the circuit breaker would have refused it.", "",
	},
	{
		"calls were refused", func(p *subject) {
			p.status = 200
			p.build(limit(1, 0))
			resp := p.open(p.Context(), "GET")
			p.call(2)
			resp.Body.Close()
		}, "watch", "rejected_concurrency_limit",
		"Some calls were refused: 2 calls or attempts were turned away in the last minute: all permits were in use and the queue was full.",
		"That is over at this moment.",
	},
	{
		"total timeout", func(p *subject) { p.status = 0; p.build(total); p.call(2) }, "watch", "total_timeout",
		"No time for a retry: 2 calls of 2 in the last minute ran into the total timeout (3 s).",
		"It ends the attempt that is under way, and there is none after it.",
	},
	{
		"caller left", func(p *subject) {
			p.status = 0
			p.build()
			ctx, cancel := context.WithTimeout(p.Context(), time.Second)
			defer cancel()
			p.callWith(ctx, "GET", 1)
		}, "watch", "canceled",
		"Not for those who have left: 1 call of 1 in the last minute ended since the caller's context was canceled or its deadline had passed.",
		"Nobody waits for a retry then, so there is none.",
	},
	{
		"one caller of many left", func(p *subject) {
			p.status = 200
			p.build()
			p.call(99)
			p.status = 0
			ctx, cancel := context.WithTimeout(p.Context(), time.Second)
			defer cancel()
			p.callWith(ctx, "GET", 1)
		}, "fine", "healthy",
		"Nothing to retry: no attempt failed in the last minute, of 100.",
		"One that fails is repeated up to 1 time. No budget bounds retries: in an outage each call may make them all. Budget(RetryRatio(0.1)) keeps them to a tenth of the calls.",
	},
	{
		"own RetryIf", func(p *subject) {
			p.build(retries(resilient.RetryIf(func(resilient.Attempt) bool { return false })))
			p.call(2)
		}, "watch", "retry_if",
		"No retries: the client's own RetryIf asks for none, though 2 attempts in the last minute failed in a way that the standard rule would retry.", "",
	},
	{
		"retrying", func(p *subject) {
			p.status = 200
			p.build(budget(resilient.RetryRatio(0.5), resilient.MinimumThroughput(2)))
			p.call(10)
			p.ill = 1
			p.call(1)
		}, "fine", "retrying",
		"Retrying: 1 retry in the last minute, in which 11 calls ended.", "The budget allows 4 more at the moment.",
	},
	{
		"failing for good", func(p *subject) { p.status = 404; p.build(); p.call(2) }, "fine", "permanent",
		"Nothing to retry: 2 of 2 attempts in the last minute ended in a way that no retry mends, such as status 404 or a bad certificate.",
		"One that fails is repeated up to 1 time. No budget bounds retries: in an outage each call may make them all. Budget(RetryRatio(0.1)) keeps them to a tenth of the calls.",
	},
	{
		"healthy", func(p *subject) {
			p.status = 200
			p.build(budget(resilient.MinimumThroughput(100)))
			p.call(2)
		}, "fine", "healthy",
		"Nothing to retry: no attempt failed in the last minute, of 2.",
		"One that fails is repeated up to 1 time. The budget is not in force: there were fewer than 100 calls in the last 30 s.",
	},
	{
		"off and idle", func(p *subject) { p.build(retries(resilient.Off)) }, "idle", "off",
		"No retries: retries are switched off for this client.", "",
	},
	{
		"idle", func(p *subject) { p.build(); p.call(1); time.Sleep(2 * time.Minute) }, "idle", "idle",
		"Nothing to retry: there was no call in the last minute.",
		"One that fails is repeated up to 1 time. No budget bounds retries: in an outage each call may make them all. Budget(RetryRatio(0.1)) keeps them to a tenth of the calls.",
	},
}

func limit(permits, queue int) building {
	return func(b resilient.Builder) resilient.Builder {
		return b.Concurrency(resilient.Permits(permits), resilient.Queue(queue))
	}
}

func rate(options ...resilient.RateLimitOption) building {
	return func(b resilient.Builder) resilient.Builder {
		return b.RateLimit(append([]resilient.RateLimitOption{resilient.PerMinute(1)}, options...)...)
	}
}

func total(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.Total(3 * time.Second)) }

func endpoints(b resilient.Builder) resilient.Builder {
	return b.Endpoints(resilient.RoundRobin,
		resilient.Endpoint{Name: "east", URL: "http://east.test"}, resilient.Endpoint{Name: "west", URL: "http://west.test"})
}

func TestPageSaysWhyAClientIsNotRetrying(t *testing.T) {
	t.Parallel()
	for _, d := range diagnoses {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				p := &subject{T: t, Registry: resilient.NewRegistry(), status: 503}
				h := p.Handler()
				d.arrange(p)
				got := visit(t, h, "").States[0].Diagnosis
				is.Equal(got.Verdict+": "+got.Because, d.says) // the sentence
				is.Equal(got.Next, d.next)                     // what comes next
				is.Equal(got.Reason, d.reason)                 // the word for it
				is.Equal(got.Level, d.level)                   // how bad it is
				time.Sleep(time.Minute)                        // for what is under way
			})
		})
	}
}
