package measure

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/a-seed-e0941262/resilient/bench/base"
	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// A load is what a number of callers do at once, over real connections to a server in the same process.
type load struct {
	name    string
	callers int
	calls   int // by all of them
	method  string
	sooner  bool // the callers have a deadline sooner than any of the client's
	who     []string
}

func loads(scale int) []load {
	all := []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY,
		"retryablehttp", "retryablehttp-timeout", "heimdall", "resty2", "resty3", "gobreaker", contender.Timeout, contender.Wrapped}
	few := []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY, contender.Timeout}
	return []load{
		{"get-64", 64, 4096 * scale, http.MethodGet, false, all},
		{"get-1", 1, 1024 * scale, http.MethodGet, false, few},
		{"post-64", 64, 2048 * scale, http.MethodPost, false, few},
		{"get-64-sooner", 64, 4096 * scale, http.MethodGet, true, few},
	}
}

// Loopback prints what a call costs, of processor time above all, in rounds of all contenders in random order.
func Loopback(rounds, scale int) error {
	server := httptest.NewServer(handler())
	defer server.Close()
	for _, l := range loads(scale) {
		clients := map[string]contender.Do{}
		for _, c := range contender.Named(l.who...) {
			clients[c.Name] = c.With(transport(l.callers))
		}
		for name := range clients { // connections are made before anything counts
			if _, err := l.run(clients[name], server.URL, l.callers*4); err != nil {
				return fmt.Errorf("%s of %s: %w", l.name, name, err)
			}
		}
		for range rounds {
			order := slices.Clone(l.who)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, name := range order {
				result, err := l.run(clients[name], server.URL, l.calls)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", l.name, name, err)
				}
				fmt.Printf("BenchmarkLoopback/%s/%s %s\n", l.name, name, result)
			}
		}
	}
	return nil
}

// transport keeps a connection for each caller.
func transport(callers int) *http.Transport {
	return &http.Transport{MaxIdleConns: callers, MaxIdleConnsPerHost: callers}
}

// run makes calls and returns what they cost, as a benchmark prints it.
func (l load) run(do contender.Do, url string, calls int) (string, error) {
	each := calls / l.callers
	times := make([][]time.Duration, l.callers)
	errs := make([]error, l.callers)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, begun := processorTime(), time.Now()
	var wg sync.WaitGroup
	for i := range l.callers {
		times[i] = make([]time.Duration, 0, each)
		wg.Go(func() {
			for range each {
				start := time.Now()
				if errs[i] = l.call(do, url); errs[i] != nil {
					return
				}
				times[i] = append(times[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	wall, used := time.Since(begun), processorTime()-cpu
	runtime.ReadMemStats(&after)
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	sorted := slices.Sorted(slices.Values(slices.Concat(times...)))
	n := float64(len(sorted))
	return fmt.Sprintf("%d %.0f ns/op %.0f cpu-ns/op %.0f req/s %d p50-ns %d p99-ns %.1f B/op %.2f allocs/op",
		len(sorted), float64(wall)/n, float64(used)/n, n/wall.Seconds(), sorted[len(sorted)/2], sorted[len(sorted)*99/100],
		float64(after.TotalAlloc-before.TotalAlloc)/n, float64(after.Mallocs-before.Mallocs)/n), nil
}

func (l load) call(do contender.Do, url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	if l.sooner {
		ctx, cancel = context.WithTimeout(context.Background(), 2*time.Second)
	}
	defer cancel()
	var body io.Reader
	if l.method == http.MethodPost {
		body = strings.NewReader(base.Kilobyte)
	}
	resp, err := do(ctx, l.method, url+"/small", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// processorTime is what the process has used, of its own and in the kernel.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
