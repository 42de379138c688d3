package scale_test

import (
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
)

// A clock stands still until it is told to go on. No timer of it ever fires: no limit is ever reached.
type clock struct {
	clockwork.Clock
	base   time.Time
	passed atomic.Int64
}

func newClock() *clock { return &clock{Clock: clockwork.NewRealClock(), base: time.Now()} }

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

func (c *clock) Now() time.Time { return c.base.Add(time.Duration(c.passed.Load())) }

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *clock) AfterFunc(time.Duration, func()) clockwork.Timer { return never{} }

func (c *clock) NewTimer(time.Duration) clockwork.Timer { return never{} }

type never struct{}

func (never) Chan() <-chan time.Time   { return nil }
func (never) Reset(time.Duration) bool { return true }
func (never) Stop() bool               { return true }
