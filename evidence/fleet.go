package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// patience is how long a caller waits for a call with all its attempts.
const patience = 30 * time.Second

// A fleet is a number of processes that call one dependency. Each has a client of its own, which knows nothing of the
// others.
type fleet struct {
	clients int
	rate    float64 // calls a second of each, at random times
}

// load is the calls of all, a second.
func (f fleet) load() float64 { return float64(f.clients) * f.rate }

// play runs the fleet for as long as the scenario lasts, and then until the last call that counts has ended: the load goes
// on meanwhile.
func (f fleet) play(t *testing.T, p policy, s scenario) *record {
	d := newDependency(s)
	server := httptestx.NewServer(t, http.HandlerFunc(inStock), httptestx.WithLastExchanges(1))
	server.On("/items/{item}").Func(d.plan)
	r := &record{}
	var all sync.WaitGroup
	for n := range f.clients {
		base := &http.Transport{DialContext: server.DialContext, MaxIdleConnsPerHost: 1000}
		t.Cleanup(base.CloseIdleConnections)
		c := caller{
			send:   p.client(base, rand.New(rand.NewPCG(s.seed, uint64(2*n+1)))),
			url:    server.URL + "/items/",
			began:  d.began,
			chance: rand.New(rand.NewPCG(s.seed, uint64(2*n+2))),
			record: r,
		}
		all.Go(func() { c.callUntil(s.length+patience, f.rate, &all) })
	}
	all.Wait()
	r.arrivals = d.arrivals
	return r
}

func inStock(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in stock\n") }

// A caller is what makes the calls of one process.
type caller struct {
	send   sender
	url    string // but for the item
	began  time.Time
	chance *rand.Rand
	record *record
}

// callUntil makes calls at random times, so many a second. It does not wait for answers in between: users do not come more
// slowly because a server is slow.
func (c caller) callUntil(end time.Duration, rate float64, calls *sync.WaitGroup) {
	for {
		time.Sleep(time.Duration(c.chance.ExpFloat64() / rate * float64(time.Second)))
		at := time.Since(c.began)
		if at >= end {
			return
		}
		url := c.url + fmt.Sprint(c.chance.IntN(items))
		calls.Go(func() {
			ok := c.call(url)
			c.record.add(outcome{at, time.Since(c.began) - at, ok})
		})
	}
}

// call makes one call, and reports whether it got what it asked for.
func (c caller) call(url string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := c.send(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}
