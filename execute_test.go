package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

var errLost = errors.New("connection lost")

// executing runs a test in virtual time, with a builder of pipelines that share nothing with other tests.
func executing(t *testing.T, test func(*testing.T, resilient.Builder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, retrying(every(time.Second)).Registry(resilient.NewRegistry()))
	})
}

func pipeline(t *testing.T, b resilient.Builder) *resilient.Pipeline {
	t.Helper()
	p, err := b.BuildPipeline()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// failing returns a function that fails with one error after another, and then succeeds with the number of its calls.
func failing(errs ...error) func(context.Context) (int, error) {
	calls := 0
	return func(context.Context) (int, error) {
		calls++
		if calls > len(errs) {
			return calls, nil
		}
		return -1, errs[calls-1]
	}
}

func TestFunctionIsCalledAgainUntilItSucceeds(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		start := time.Now()
		n, err := resilient.Execute(t.Context(), pipeline(t, b), failing(errLost, errLost))
		is.NoErr(err)
		is.Equal(n, 3)                             // the third call's result
		is.Equal(time.Since(start), 2*time.Second) // after both waits
	})
}

func TestFunctionThatKeepsFailingGivesItsLastErrorAndNoResult(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		last := errors.New("the third")
		n, err := resilient.Execute(t.Context(), pipeline(t, b), failing(errLost, errLost, last))
		is.Equal(err, last) // the very error
		is.Equal(n, 0)      // and not what came with it
	})
}

func TestPermanentErrorEndsTheCallsAndIsNoFailure(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		registry := resilient.NewRegistry()
		p := pipeline(t, b.Registry(registry).Breaker(resilient.MinimumThroughput(2)))
		start := time.Now()
		_, err := resilient.Execute(t.Context(), p, failing(backoff.Permanent(errLost)))
		is.Equal(err, errLost)                                       // without its wrapping
		is.Equal(time.Since(start), time.Duration(0))                // at once
		is.Equal(registry.Snapshot()[0].Breaker.Requests, uint64(0)) // it does not count
	})
}

// RetryIf may judge the errors of a function instead of the function itself.
func TestRetryIfDecidesWhichErrorsOfAFunctionMayPass(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		p := pipeline(t, b.Retry(resilient.RetryIf(func(a resilient.Attempt) bool { return errors.Is(a.Err, errLost) })))
		n, err := resilient.Execute(t.Context(), p, failing(errLost))
		is.NoErr(err)
		is.Equal(n, 2) // it says that this one may
		no := errors.New("no such table")
		ctx, report := resilient.WithReport(t.Context())
		_, err = resilient.Execute(ctx, p, failing(no))
		is.Equal(err, no)
		is.Equal(report.Attempts(), 1) // and that this one does not
	})
}

func TestFunctionSaysWhenToBeCalledAgain(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		start := time.Now()
		n, err := resilient.Execute(t.Context(), pipeline(t, b.Retry(resilient.RetryAfter(true))), failing(backoff.RetryAfter(7)))
		is.NoErr(err)
		is.Equal(n, 2)
		is.Equal(time.Since(start), 7*time.Second) // instead of the second of the backoff
	})
}

// What a function had done when it failed is not known, also if its error looks like one of a connection.
func TestFunctionIsNotCalledAgainIfThatMayDoHarm(t *testing.T) {
	t.Parallel()
	refused := dialing(errLost)
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		p := pipeline(t, b.Idempotency(resilient.UnprocessedOnly))
		ctx, report := resilient.WithReport(t.Context())
		_, err := resilient.Execute(ctx, p, failing(refused))
		is.True(errors.Is(err, errLost))
		is.Equal(report.Ended(), "ambiguous")
		n, err := resilient.Execute(resilient.Replayable(t.Context()), p, failing(refused))
		is.NoErr(err)
		is.Equal(n, 2) // it may be called again
	})
}

func TestFunctionAndClientShareTheStateOfTheirName(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		b = b.Retry(resilient.Off).Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2))
		c := b.Transport(answer(200)).MustBuild()
		p := pipeline(t, b)
		for range 2 {
			_, err := resilient.Execute(t.Context(), p, failing(errLost))
			is.True(errors.Is(err, errLost))
		}
		_, err := c.Get("http://orders.test")
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // opened by the function
		_, err = resilient.Execute(t.Context(), p, failing())
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // which is refused as well
		is.True(errors.Is(err, errLost))                  // and told what for
	})
}

func TestFunctionHasTheTimeOfAnAttempt(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		p := pipeline(t, b.Timeout(resilient.PerAttempt(time.Second)))
		_, err := resilient.Execute(t.Context(), p, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		is.True(errors.Is(err, resilient.ErrAttemptTimeout))
		is.True(errors.Is(err, context.DeadlineExceeded))
		is.Equal(err.Error(), `resilient: client "orders": attempt timeout after 1s`)
	})
}

func TestPanicOfAFunctionGivesEverythingBack(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		p := pipeline(t, b.Concurrency(resilient.Permits(1)))
		func() {
			defer func() { is.Equal(recover(), "f") }()
			_, _ = resilient.Execute(t.Context(), p, func(context.Context) (int, error) { panic("f") })
		}()
		_, err := resilient.Execute(t.Context(), p, failing())
		is.NoErr(err) // the permit is free
	})
}

// The function's context is the caller's, and ends with the attempt; a client that is called with it leaves the retries
// to the pipeline.
func TestFunctionHasTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	executing(t, func(t *testing.T, b resilient.Builder) {
		is := is.New(t)
		calls := 0
		inner := b.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			calls++
			return nil, errLost
		})).MustBuild()
		var kept context.Context
		_, err := resilient.Execute(context.WithValue(t.Context(), key{}, "v"), pipeline(t, b), func(ctx context.Context) (int, error) {
			is.Equal(ctx.Value(key{}), "v")
			kept = ctx
			r, _ := http.NewRequestWithContext(ctx, "GET", "http://orders.test", nil)
			_, err := inner.Do(r)
			return 0, err
		})
		is.True(errors.Is(err, errLost))
		is.Equal(calls, 3)                               // not nine
		is.True(errors.Is(kept.Err(), context.Canceled)) // it has ended
	})
}

func TestPipelineHasNoTransport(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := resilient.New("orders").Transport(answer(200)).BuildPipeline()
	is.Equal(err.Error(), `resilient: client "orders": Transport: has no meaning for a pipeline, which sends nothing; leave it out`)
	_, err = resilient.New("orders").Client(&http.Client{}).BuildPipeline()
	is.Equal(err.Error(), `resilient: client "orders": Client: has no meaning for a pipeline, which sends nothing; leave it out`)
}
