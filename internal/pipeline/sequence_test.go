package pipeline

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/matryer/is"
)

func TestSequenceRunsEverythingOnceAndInOrder(t *testing.T) {
	is := is.New(t)
	const n = 200
	for range 50 {
		var q sequence
		var ran []int // without a lock: functions run one at a time
		var bringers sync.WaitGroup
		for _, i := range rand.Perm(n) {
			bringers.Go(func() { q.run(uint64(i+1), func() { ran = append(ran, i) }) })
		}
		bringers.Wait()
		is.Equal(len(ran), n)         // each of them
		is.True(slices.IsSorted(ran)) // in the order of their numbers
		is.Equal(len(q.waiting), 0)   // with nothing kept
	}
}

func TestSequenceGoesOnAfterAPanic(t *testing.T) {
	is := is.New(t)
	var q sequence
	var ran []int
	q.run(2, func() { ran = append(ran, 2) })
	q.run(3, func() { panic("third") })
	q.run(4, func() { ran = append(ran, 4) })
	func() {
		defer func() { is.Equal(recover(), "third") }() // it comes out where it was run
		q.run(1, func() { ran = append(ran, 1) })
	}()
	is.Equal(ran, []int{1, 2, 4}) // the others' ran all the same
	q.run(5, func() { ran = append(ran, 5) })
	is.Equal(ran, []int{1, 2, 4, 5}) // and later ones do
}

func TestSequenceTakesWhatAFunctionBrings(t *testing.T) {
	is := is.New(t)
	var q sequence
	var ran []int
	q.run(1, func() {
		q.run(2, func() { ran = append(ran, 2) })
		ran = append(ran, 1)
	})
	is.Equal(ran, []int{1, 2}) // after itself
}
