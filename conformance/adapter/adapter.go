// Package adapter stands between net/http's own tests and the library. A copy of it becomes part of the standard library of
// a scratch Go tree, together with all that it imports.
package adapter

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/conformance/mutant"
)

// The variants of a run, beside the names of the mutants.
const (
	Baseline = "baseline" // nothing is wrapped
	NoRetry  = "noretry"  // the preset Standard, with retries off
	Retry    = "retry"    // the preset Standard, with short delays
)

// Wrapper returns what the variant puts around each transport of a test; nil if that is nothing. It is called once a process.
func Wrapper(variant string) func(base http.RoundTripper) http.RoundTripper {
	switch variant {
	case Baseline:
		return nil
	case NoRetry:
		return wrapper(resilient.Off)
	case Retry:
		// Tests that expect one attempt and get four would wait for the delays of three retries, many seconds.
		return wrapper(resilient.Backoff(time.Millisecond, 10*time.Millisecond))
	}
	wrap, ok := mutant.Wrapper(variant)
	if !ok {
		panic(fmt.Sprintf("conformance: no variant %q", variant))
	}
	return wrap
}

func wrapper(retry resilient.RetryOption) func(http.RoundTripper) http.RoundTripper {
	var transports atomic.Int64
	return func(base http.RoundTripper) http.RoundTripper {
		// Clients of one name share their state. Tests must not.
		name := fmt.Sprintf("conformance-%d", transports.Add(1))
		wrapped, err := resilient.New(name).Retry(retry).Transport(base).BuildTransport()
		if err != nil {
			panic(err)
		}
		return wrapped
	}
}
