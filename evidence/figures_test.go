package main

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

// steady has a call a tenth of a second, each with one attempt, of which those in the span fail.
func steady(length time.Duration, fail span) *record {
	r := &record{}
	for at := time.Duration(0); at < length; at += time.Second / 10 {
		r.add(outcome{at, 50 * time.Millisecond, !fail.has(at)})
		r.arrivals = append(r.arrivals, at)
	}
	return r
}

func TestFiguresOfATrouble(t *testing.T) {
	is := is.New(t)
	s := outage(fleet{clients: 1, rate: 10})
	r := steady(playFor, span{troubleFrom, troubleTo + 6*time.Second})
	for n := range 90 { // thirty attempts a second more, for three seconds
		r.arrivals = append(r.arrivals, 40*time.Second+time.Duration(n)*time.Second/30)
	}
	f := newFigures(s, "x", r)
	is.Equal(f.amplification, 690./600) // 600 calls in the minute, and 90 attempts more
	is.Equal(f.peak, 4.)                // forty instead of ten
	is.Equal(f.during, 0.)              // nothing succeeds in the trouble
	is.Equal(f.after, 114./120)         // and for six of the 120 seconds after it
	is.Equal(f.recovery, 6*time.Second) // then all does
	is.Equal(f.window, 300.)            // calls in half a minute
	is.Equal(r.within(span{0, troubleFrom}), 50*time.Millisecond)
}

func TestRecoveryNeedsTenGoodSeconds(t *testing.T) {
	is := is.New(t)
	end := 20 * time.Second
	r := steady(40*time.Second, span{25 * time.Second, 26 * time.Second})
	is.Equal(r.recovery(end, 40*time.Second), 6*time.Second) // five good seconds were not enough
	is.Equal(r.recovery(end, 30*time.Second), never)         // nor would ten be that nobody saw
}
