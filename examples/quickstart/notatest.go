package main

import (
	"fmt"
	"log"
)

// notATest stands in for the test that httptestx is made for. In a test there is a t, and nothing of this is needed.
type notATest struct {
	cleanups []func()
}

func (t *notATest) Helper() {}

func (t *notATest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *notATest) Logf(format string, args ...any) { log.Printf(format, args...) }

func (t *notATest) Errorf(format string, args ...any) { log.Printf(format, args...) }

func (t *notATest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// end is the end of the test.
func (t *notATest) end() {
	for _, f := range t.cleanups {
		f()
	}
}
