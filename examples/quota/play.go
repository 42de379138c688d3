package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

const (
	callers  = 20
	minutes  = 10
	quota    = 60_000 // tokens a minute, of each deployment
	lossFrom = 3      // minutes
	lossTo   = 5
	answer   = 300 // tokens that a request allows for its answer
)

// A deployment counts tokens as the services do: by an estimate on arrival, anew every minute.
type deployment struct {
	url   string
	began time.Time
	lossy bool

	mu       sync.Mutex
	asked    [minutes + 5]int // tokens, by minute
	accepted [minutes + 5]int
	refused  int
}

func (d *deployment) allowed(minute int) int {
	if d.lossy && minute >= lossFrom && minute < lossTo {
		return quota / 10
	}
	return quota
}

func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var chat struct{ Messages []struct{ Content string } }
	if json.NewDecoder(r.Body).Decode(&chat) != nil {
		return
	}
	length := len(chat.Messages[0].Content)
	tokens := (length+3)/4 + answer
	if wait := d.take(tokens); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait/time.Second)+1))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"code":"rate_limit_exceeded","message":"too many tokens"}}`)
		return
	}
	time.Sleep(time.Duration(length%5+1) * 500 * time.Millisecond) // half a second to two and a half
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"usage":{"total_tokens":%d}}`, tokens)
}

// take books the tokens, or says how long the minute still lasts.
func (d *deployment) take(tokens int) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := time.Since(d.began)
	minute := int(since / time.Minute)
	d.asked[minute] += tokens
	if d.accepted[minute]+tokens > d.allowed(minute) {
		d.refused++
		return time.Minute - since%time.Minute
	}
	d.accepted[minute] += tokens
	return 0
}

// A caller asks one question after the other.
type caller func(question string) (ok bool)

// clients makes the callers' clients for the deployments.
type clients func(t *testing.T, deployments []*deployment, base http.RoundTripper) []caller

// A result is what came of it.
type result struct {
	succeeded, failed, refused int
	deployments                []*deployment
	most                       float64 // asked of a deployment with its whole capacity in a minute, as a share of that
	used                       float64 // share of what both allow
	mean, p95                  time.Duration
}

func play(t *testing.T, build clients) result {
	began := time.Now()
	east, west := &deployment{began: began}, &deployment{began: began, lossy: true}
	deployments := []*deployment{east, west}
	servers := map[string]*httptestx.Server{}
	for i, d := range deployments {
		s := httptestx.NewServer(t, d)
		d.url = []string{"http://east.test", "http://west.test"}[i]
		servers[strings.TrimPrefix(d.url, "http://")] = s
	}
	all := build(t, deployments, network{servers})
	r := result{deployments: deployments}
	var mu sync.Mutex
	var took []time.Duration
	var running sync.WaitGroup
	for i, call := range all {
		running.Go(func() {
			for n := 0; time.Since(began) < minutes*time.Minute; n++ {
				start := time.Now()
				ok := call(strings.Repeat("word ", 100+(i*37+n*91)%400))
				mu.Lock()
				took = append(took, time.Since(start))
				if ok {
					r.succeeded++
				} else {
					r.failed++
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	r.sum(took)
	return r
}

func (r *result) sum(took []time.Duration) {
	var accepted, allowed int
	for _, d := range r.deployments {
		r.refused += d.refused
		for m := range minutes {
			if d.allowed(m) == quota {
				r.most = max(r.most, float64(d.asked[m])/quota)
			}
			accepted += d.accepted[m]
			allowed += d.allowed(m)
		}
	}
	r.used = float64(accepted) / float64(allowed)
	slices.Sort(took)
	for _, d := range took {
		r.mean += d / time.Duration(len(took))
	}
	r.mean, r.p95 = r.mean.Round(10*time.Millisecond), took[len(took)*95/100].Round(10*time.Millisecond)
}

// A network brings requests to the server of their host.
type network struct{ servers map[string]*httptestx.Server }

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	return n.servers[r.URL.Host].Client().Transport.RoundTrip(r)
}
