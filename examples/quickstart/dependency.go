package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// queueLimit bounds how much work may wait in front of a dependency. It is longer than clients wait, as most queues
// are: that is what lets one fill up with work that nobody wants any more.
const queueLimit = time.Second

// A dependency is a server with one worker: first come, first served. It does not notice that a client has given up,
// and does the work anyway.
type dependency struct {
	url    string
	server *http.Server
	clock  *clock

	mu       sync.Mutex
	free     time.Duration // when, on the clock, the worker has done all that was accepted
	attempts int           // requests that arrived
}

// startDependency starts a dependency on a port of the loopback interface.
func startDependency(clock *clock) (*dependency, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a dependency: %w", err)
	}
	d := &dependency{url: "http://" + listener.Addr().String(), clock: clock}
	d.server = &http.Server{Handler: d}
	go d.server.Serve(listener) //nolint:errcheck // it ends with ErrServerClosed, by close
	return d, nil
}

func (d *dependency) close() { d.server.Close() }

// ServeHTTP answers 200 when the work is done, or 503 at once if the queue is full.
func (d *dependency) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	wait, ok := d.accept(d.clock.now())
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	time.Sleep(wait) // not until the client leaves: the work is done in any case
	io.WriteString(w, "in stock\n")
}

// accept puts a request that arrives now at the end of the queue, and returns how long it takes until it is done.
func (d *dependency) accept(now time.Duration) (wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts++
	begins := max(now, d.free)
	if begins-now > queueLimit {
		return 0, false
	}
	d.free = begins + serviceTime(now)
	return d.free - now, true
}

// arrived returns how many requests there were.
func (d *dependency) arrived() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempts
}
