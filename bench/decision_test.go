package bench_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/jonboulle/clockwork"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// The decisions of the gates, beside those of others. Where a name ends in /clock the decision reads the clock as a call
// does; the others are told the time, for a call reads it once for all that it decides.

// A moment reads the clock as a call does: once, since a base.
type moment struct {
	clock clockwork.Clock
	base  time.Time
}

func newMoment() moment {
	c := clockwork.NewRealClock()
	return moment{c, c.Now()}
}

func (m moment) now() time.Duration { return m.clock.Now().Sub(m.base) }

// told is the time where nobody reads it.
const told = time.Second

func BenchmarkClock(b *testing.B) {
	m := newMoment()
	base := time.Now()
	run(b, "time.Now", func() { _ = time.Now() })
	run(b, "time.Since", func() { _ = time.Since(base) })
	run(b, "resilient", func() { m.now() })
}

func BenchmarkBudgetRecord(b *testing.B) {
	m, own := newMoment(), newBudget(100)
	run(b, "resilient", func() { own.Request(told) })
	run(b, "resilient/clock", func() { own.Request(m.now()) })
	// Every execution is recorded when it begins, and again when it ends.
	theirs := budget.NewBuilder().WithMaxRate(0.1).Build().(interface {
		RecordExecution()
		ReleaseExecution()
	})
	run(b, "failsafe", func() { theirs.RecordExecution(); theirs.ReleaseExecution() })
	tokens := ratelimit.NewTokenRateLimit(500)
	run(b, "aws", func() { _ = tokens.AddTokens(1) })
}

func BenchmarkBudgetRetry(b *testing.B) {
	m, permitting, denying := newMoment(), newBudget(math.MaxUint64-1), newBudget(0)
	run(b, "resilient", func() { permitting.Retry(told) })
	run(b, "resilient/clock", func() { permitting.Retry(m.now()) })
	run(b, "resilient-denied/clock", func() { denying.Retry(m.now()) })
	theirs := budget.NewBuilder().WithMaxRate(0.1).Build().(interface {
		TryAcquirePermit() bool
		ReleasePermit()
	})
	run(b, "failsafe", func() { theirs.TryAcquirePermit(); theirs.ReleasePermit() })
	tokens, ctx := ratelimit.NewTokenRateLimit(500), context.Background()
	run(b, "aws", func() {
		release, _ := tokens.GetToken(ctx, 5)
		_ = release()
	})
	limiter := rate.NewLimiter(rate.Limit(1e9), 1e9)
	run(b, "x-time-rate", func() { limiter.Allow() })
}

func newBudget(lowVolume uint64) *gate.Budget {
	return gate.NewBudget(gate.BudgetConfig{RatioPPM: 100_000 * min(lowVolume, 1), Window: 30 * time.Second, LowVolume: lowVolume})
}

func BenchmarkBreaker(b *testing.B) {
	m, own := newMoment(), gate.NewBreaker(gate.BreakerConfig{FailureRatioPPM: 500_000, Minimum: 100,
		Sampling: 30 * time.Second, Break: 5 * time.Second, ProbeTimeout: 10 * time.Second})
	run(b, "resilient", func() { own.Settle(told, own.Admit(told).Ticket, gate.Success) })
	run(b, "resilient/clock", func() {
		now := m.now()
		own.Settle(now, own.Admit(now).Ticket, gate.Success)
	})
	run(b, "resilient-admit", func() { own.Admit(told) })
	var mu sync.Mutex
	run(b, "a-mutex-alone", func() {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // it is what is measured
	})
	theirs := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second})
	run(b, "gobreaker", func() {
		done, _ := theirs.Allow()
		done(nil)
	})
	one := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second})
	run(b, "gobreaker-execute", func() { _, _ = one.Execute(func() (any, error) { return nil, nil }) })
	safe := circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 100, 30*time.Second).Build()
	run(b, "failsafe", func() {
		safe.TryAcquirePermit()
		safe.RecordSuccess()
	})
}

func BenchmarkLimit(b *testing.B) {
	own := gate.NewLimit(1000, 0)
	run(b, "resilient", func() {
		own.Enter()
		own.Release()
	})
	channel := make(chan struct{}, 1000)
	run(b, "channel", func() {
		channel <- struct{}{}
		<-channel
	})
	theirs := bulkhead.New[any](1000)
	run(b, "failsafe", func() {
		theirs.TryAcquirePermit()
		theirs.ReleasePermit()
	})
}

func BenchmarkRate(b *testing.B) {
	m, own := newMoment(), gate.NewBucket(gate.Rate{Tokens: 1e9, Per: time.Second}, 1e9)
	run(b, "resilient/clock", func() { own.Take(m.now(), 1, 0) })
	theirs := rate.NewLimiter(rate.Limit(1e9), 1e9)
	run(b, "x-time-rate", func() { theirs.Allow() })
}

// run measures an operation on one processor, and on all at once: with -test.cpu 1,2 twice.
func run(b *testing.B, name string, operation func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				operation()
			}
		})
	})
}
