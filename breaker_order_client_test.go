package resilient_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// Whoever follows the state of a circuit by its events ends with the state that
// it has, also if the call that made a change is slow to tell.
func TestChangesOfACircuitAreToldInOrder(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		var mu sync.Mutex
		var told []string
		c := w.client(brittle().
			Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration {
				time.Sleep(20 * time.Second) // longer than the break that has begun
				return 15 * time.Second
			})).
			Observe(func(_ context.Context, e resilient.Event) {
				if e, ok := e.(resilient.BreakerChanged); ok {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, e.To)
				}
			}))
		d.answer(503)
		var calls sync.WaitGroup
		calls.Go(func() {
			for range 2 { // the second opens the circuit
				_, _ = w.post(c)
			}
		})
		time.Sleep(16 * time.Second)
		d.answer(200)
		_, _ = w.post(c) // the probe
		calls.Wait()
		is := is.New(w.T)
		is.Equal(w.circuit().State, "closed")
		is.Equal(strings.Join(told, ", "), "open, half-open, closed")
	})
}
