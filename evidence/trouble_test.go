package main

import (
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestWorkIsDoneMoreSlowlyInADip(t *testing.T) {
	is := is.New(t)
	dip := trouble{from: 10 * time.Second, to: 20 * time.Second, share: 0.5}
	for at, work := range map[time.Duration]float64{0: 0, 5: 5, 10: 10, 14: 12, 20: 15, 24: 19} {
		is.Equal(dip.done(at*time.Second), work)  // a second's work a second, and half of that in the dip
		is.Equal(dip.until(work), at*time.Second) // and the other way round
	}
}

func TestDependencyDoesTheWorkOfThoseWhoLeft(t *testing.T) {
	is := is.New(t)
	d := dependency{capacity: 8}
	for n := range 25 {
		wait, ok := d.accept(0)
		is.True(ok)                                      // three seconds of work may wait
		is.Equal(wait, time.Duration(n+1)*time.Second/8) // each in its turn, whoever is still there
	}
	_, ok := d.accept(0)
	is.True(!ok) // the queue is full
	wait, ok := d.accept(time.Second)
	is.True(ok)                                           // there is room again
	is.True(wait > 2*time.Second && wait < 3*time.Second) // behind what came before
}
