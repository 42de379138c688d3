package soundness_test

import (
	"math/rand/v2"
	"time"
)

// What a decision of chance is about. It keeps the decisions about one number
// apart.
const (
	aboutWorld uint64 = iota + 1
	aboutCall
	aboutSend
	aboutHandler
	aboutDial
	aboutConn
	aboutStream
)

// dice decide what happens to one thing. They depend on the seed and on what the
// thing is, never on what else goes on: so a call meets the same faults in each
// run, although no two runs interleave alike.
type dice struct{ *rand.Rand }

func (s seed) dice(about uint64, n, m int) dice {
	return dice{rand.New(rand.NewPCG(uint64(s), about<<56^uint64(n)<<24^uint64(m)))}
}

type seed uint64

// percent is true that often.
func (d dice) percent(p int) bool { return d.IntN(100) < p }

// upTo is 0 to n, both included.
func (d dice) upTo(n int) int { return d.IntN(n + 1) }

// wait is a time of up to the longest: short ones as often as long ones.
func (d dice) wait(longest time.Duration) time.Duration {
	return longest >> d.IntN(8) * time.Duration(d.upTo(100)) / 100
}

// size is a number of bytes of up to the largest; small ones as often as large ones.
func (d dice) size(largest int) int { return d.upTo(largest >> d.IntN(10)) }

// A lot is one of several things that may happen, some more often than others.
type lot[T any] struct {
	weight int
	name   string
	what   T
}

func draw[T any](d dice, lots []lot[T]) lot[T] {
	total := 0
	for _, l := range lots {
		total += l.weight
	}
	n := d.IntN(total)
	for _, l := range lots {
		if n -= l.weight; n < 0 {
			return l
		}
	}
	panic("unreachable")
}

func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }
