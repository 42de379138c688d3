// Package measure has what is not a benchmark of Go's: whole processes, over real connections. Each function prints its
// results as benchmarks do.
package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/bench/base"
	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// InFlight prints what each of many calls that wait for their answer costs: goroutines and memory. Each contender wants a
// process of its own. An empty address stands for a transport that waits by itself.
func InFlight(name, address string, calls int) error {
	held := base.Held{Release: make(chan struct{})}
	var under http.RoundTripper = held
	kind := "stub"
	if address != "" {
		under, kind = transport(calls), "real"
	}
	do := contender.Named(name)[0].With(under)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	runtime.GC()
	before := look()
	done := make(chan error, calls)
	for range calls {
		go func() { done <- wait(ctx, do, address) }()
	}
	if err := untilHeld(address, calls); err != nil {
		return err
	}
	runtime.GC()
	after, n := look(), float64(calls)
	fmt.Printf("BenchmarkInFlight/%s/%s %d %.3f goroutines/call %.0f heap-B/call %.0f stack-B/call %.0f rss-B/call\n",
		kind, name, calls, float64(after.goroutines-before.goroutines)/n, float64(after.heap-before.heap)/n,
		float64(after.stack-before.stack)/n, float64(after.rss-before.rss)/n)
	close(held.Release)
	if address != "" {
		if err := visit(address + "/release"); err != nil {
			return err
		}
	}
	for range calls {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, do contender.Do, address string) error {
	if address == "" {
		address = "http://stub.invalid"
	}
	resp, err := do(ctx, http.MethodGet, address+"/held", nil)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// untilHeld returns when all calls wait, and have done nothing else for a while.
func untilHeld(address string, calls int) error {
	for began := time.Now(); address != ""; time.Sleep(20 * time.Millisecond) {
		said, err := ask(address + "/waiting")
		if err != nil {
			return err
		}
		if said == strconv.Itoa(calls) {
			break
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%s of %d calls have arrived within a minute", said, calls)
		}
	}
	time.Sleep(300 * time.Millisecond)
	return nil
}

func visit(url string) error {
	_, err := ask(url)
	return err
}

// ask is by a connection that is not kept.
func ask(url string) (string, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	return string(said), err
}

type sight struct{ goroutines, heap, stack, rss int }

// look is at this process.
func look() sight {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sight{runtime.NumGoroutine(), int(m.HeapAlloc), int(m.StackInuse), resident()}
}

// resident is the memory that the kernel counts, where it says so in /proc; 0 elsewhere.
func resident() int {
	said, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(said))[1])
	return pages * os.Getpagesize()
}
