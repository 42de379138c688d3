package pipeline

import (
	"strconv"
	"sync"
	"testing"

	"github.com/matryer/is"
)

func TestHomesRememberTheLastKeys(t *testing.T) {
	is := is.New(t)
	var h homes
	var lanes [64]Lane
	is.True(h.of("x") == nil) // nobody knows it
	for i := range maxHomes {
		h.set(strconv.Itoa(i), &lanes[i%64])
	}
	for i := range maxHomes {
		is.True(h.of(strconv.Itoa(i)) == &lanes[i%64]) // as many as were promised
	}
	h.set("0", &lanes[7])
	is.True(h.of("0") == &lanes[7]) // the last word counts
}

func TestHomesAreBounded(t *testing.T) {
	is := is.New(t)
	var h homes
	var lanes [64]Lane
	for i := range 10 * maxHomes {
		h.set(strconv.Itoa(i), &lanes[0])
		is.True(len(h.young)+len(h.old) <= 2*maxHomes) // whatever comes
	}
	is.True(h.of("0") == nil)                               // long forgotten
	is.True(h.of(strconv.Itoa(9*maxHomes)) == &lanes[0])    // of the last 8192
	is.True(h.of(strconv.Itoa(10*maxHomes-1)) == &lanes[0]) // the last
	is.True(h.of(strconv.Itoa(10*maxHomes)) == nil)         // asking makes none
	is.True(len(h.young)+len(h.old) <= 2*maxHomes)
}

// A conversation that goes on is not forgotten because of many that do not.
func TestHomesKeepTheKeysThatAreAskedFor(t *testing.T) {
	is := is.New(t)
	var h homes
	var lanes [64]Lane
	h.set("x", &lanes[3])
	for i := range 10 * maxHomes {
		h.set(strconv.Itoa(i), &lanes[0])
		if i%maxHomes == 0 {
			is.True(h.of("x") == &lanes[3]) // once in 8192
		}
	}
}

func TestHomesAreSafeForConcurrentUse(t *testing.T) {
	is := is.New(t)
	var h homes
	var lanes [64]Lane
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 5000 {
				h.set(strconv.Itoa(n), &lanes[i%64])
				h.of(strconv.Itoa(n + 1))
			}
		})
	}
	all.Wait()
	is.True(h.of("0") != nil) // somebody was last
}
