package gate_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// Benchmarks come in pairs: what the package does, beside the plainest thing that would do. Compare only within one run.
// The time is fixed, for the clock is the caller's and costs more than the decision.

func BenchmarkBudget(b *testing.B) {
	config := gate.BudgetConfig{RatioPPM: 100_000, Window: 30 * time.Second, Minimum: 100}
	unbounded := config
	unbounded.LowVolume = math.MaxUint64 - 1
	exhausted := config
	exhausted.RatioPPM, exhausted.Minimum = 0, 0

	run(b, "request/budget", func(budget *gate.Budget) { budget.Request(time.Second) }, gate.NewBudget(config))
	run(b, "request/mutex", (*mutexBudget).request, new(mutexBudget))
	run(b, "permit/budget", func(budget *gate.Budget) { budget.Retry(time.Second) }, gate.NewBudget(unbounded))
	run(b, "permit/mutex", (*mutexBudget).retry, &mutexBudget{allowance: math.MaxUint64})
	run(b, "deny/budget", func(budget *gate.Budget) { budget.Retry(time.Second) }, gate.NewBudget(exhausted))
	run(b, "deny/mutex", (*mutexBudget).retry, new(mutexBudget))
}

func BenchmarkBreaker(b *testing.B) {
	config := gate.BreakerConfig{FailureRatioPPM: 500_000, Minimum: 100, Sampling: 30 * time.Second,
		Break: 5 * time.Second, ProbeTimeout: 10 * time.Second}
	open := gate.NewBreaker(config)
	open.Isolate(0)

	run(b, "admit and settle/breaker", func(breaker *gate.Breaker) {
		breaker.Settle(time.Second, breaker.Admit(time.Second).Ticket, gate.Success)
	}, gate.NewBreaker(config))
	run(b, "admit and settle/mutex", (*mutexBudget).request, new(mutexBudget))
	run(b, "refuse/breaker", func(breaker *gate.Breaker) { breaker.Admit(time.Second) }, open)
	run(b, "refuse/mutex", (*mutexBudget).retry, new(mutexBudget))
}

func BenchmarkLimit(b *testing.B) {
	run(b, "limit", func(limit *gate.Limit) {
		limit.Enter()
		limit.Release()
	}, gate.NewLimit(1000, 0))
	run(b, "channel", func(permits chan struct{}) {
		permits <- struct{}{}
		<-permits
	}, make(chan struct{}, 1000))
}

// run measures one operation alone, and on all processors at once.
func run[T any](b *testing.B, name string, operation func(T), on T) {
	b.Run(name+"/alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			operation(on)
		}
	})
	b.Run(name+"/together", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				operation(on)
			}
		})
	})
}

// mutexBudget is a budget without a window: two numbers behind a lock.
type mutexBudget struct {
	mu                           sync.Mutex
	requests, retries, allowance uint64
}

func (m *mutexBudget) request() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
}

func (m *mutexBudget) retry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retries < m.allowance {
		m.retries++
	}
}
