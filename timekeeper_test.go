package resilient_test

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// A timekeeper is a clock that knows which of its timers may still fire.
type timekeeper struct {
	clockwork.Clock
	mu     sync.Mutex
	made   int // or set again
	active map[*keptTimer]bool
}

func newTimekeeper() *timekeeper {
	return &timekeeper{Clock: clockwork.NewRealClock(), active: map[*keptTimer]bool{}}
}

type keptTimer struct {
	clockwork.Timer
	keeper *timekeeper
}

func (t *keptTimer) Stop() bool {
	t.keeper.mu.Lock()
	defer t.keeper.mu.Unlock()
	delete(t.keeper.active, t)
	return t.Timer.Stop()
}

func (t *keptTimer) Reset(d time.Duration) bool {
	t.keeper.keep(t)
	return t.Timer.Reset(d)
}

func (k *timekeeper) keep(t *keptTimer) *keptTimer {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made++
	k.active[t] = true
	return t
}

func (k *timekeeper) NewTimer(d time.Duration) clockwork.Timer {
	return k.keep(&keptTimer{k.Clock.NewTimer(d), k})
}

func (k *timekeeper) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return k.keep(&keptTimer{k.Clock.AfterFunc(d, f), k})
}

// left returns how many timers were made, and how many of them were not stopped.
func (k *timekeeper) left() (made, running int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made, len(k.active)
}
