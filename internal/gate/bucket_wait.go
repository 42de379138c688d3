package gate

import "time"

// Wait returns how long a caller would have to wait that took n tokens now: zero if there are enough. It is at most 292
// years, which also stands for a number that the bucket never holds. It takes nothing, and promises nothing.
func (b *Bucket) Wait(now time.Duration, n int64) time.Duration {
	mustCount(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case n == 0:
		return 0
	case n > b.burst:
		return forever
	}
	b.refill(now)
	return b.level.wait(n, b.rate)
}
