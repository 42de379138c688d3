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
	is.Equal(h.of("x"), -1) // nobody knows it
	for i := range maxHomes {
		h.set(strconv.Itoa(i), i%64)
	}
	for i := range maxHomes {
		is.Equal(h.of(strconv.Itoa(i)), i%64) // as many as were promised
	}
	h.set("0", 7)
	is.Equal(h.of("0"), 7) // the last word counts
}

func TestHomesAreBounded(t *testing.T) {
	is := is.New(t)
	var h homes
	for i := range 10 * maxHomes {
		h.set(strconv.Itoa(i), 0)
		is.True(len(h.young)+len(h.old) <= 2*maxHomes) // whatever comes
	}
	is.Equal(h.of("0"), -1)                        // long forgotten
	is.Equal(h.of(strconv.Itoa(9*maxHomes)), 0)    // of the last 8192
	is.Equal(h.of(strconv.Itoa(10*maxHomes-1)), 0) // the last
	is.Equal(h.of(strconv.Itoa(10*maxHomes)), -1)  // asking makes none
	is.True(len(h.young)+len(h.old) <= 2*maxHomes)
}

// A conversation that goes on is not forgotten because of many that do not.
func TestHomesKeepTheKeysThatAreAskedFor(t *testing.T) {
	is := is.New(t)
	var h homes
	h.set("x", 3)
	for i := range 10 * maxHomes {
		h.set(strconv.Itoa(i), 0)
		if i%maxHomes == 0 {
			is.Equal(h.of("x"), 3) // once in 8192
		}
	}
}

func TestHomesAreSafeForConcurrentUse(t *testing.T) {
	is := is.New(t)
	var h homes
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 5000 {
				h.set(strconv.Itoa(n), i)
				h.of(strconv.Itoa(n + 1))
			}
		})
	}
	all.Wait()
	is.True(h.of("0") >= 0) // somebody was last
}
