package measure

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Server serves what the measurements call, on a port of its own, until standard input ends. It prints its address.
func Server() error {
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	server := &http.Server{Handler: handler()}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func listen() (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(context.Background(), "tcp", "127.0.0.1:0")
}

// handler answers /small with a kilobyte, /bytes?n= with so many, /take with nothing once it has read all, and /held when
// somebody calls /release; /waiting says how many wait for that.
func handler() http.Handler {
	var h hold
	kilobyte := []byte(strings.Repeat("x", 1024))
	mux := http.NewServeMux()
	mux.HandleFunc("/small", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(kilobyte)
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		w.Header().Set("Content-Length", strconv.Itoa(n))
		chunk := make([]byte, 64<<10)
		for ; n > 0; n -= len(chunk) {
			_, _ = w.Write(chunk[:min(n, len(chunk))])
		}
	})
	mux.HandleFunc("/take", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyBuffer(onlyWriter{io.Discard}, r.Body, make([]byte, 64<<10))
	})
	mux.HandleFunc("/held", func(http.ResponseWriter, *http.Request) { <-h.wait() })
	mux.HandleFunc("/waiting", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, h.count()) })
	mux.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { h.release() })
	return mux
}

type onlyWriter struct{ io.Writer }

// A hold keeps requests until it is released.
type hold struct {
	mu      sync.Mutex
	waiting int
	gate    chan struct{}
}

func (h *hold) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate == nil {
		h.gate = make(chan struct{})
	}
	h.waiting++
	return h.gate
}

func (h *hold) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gate != nil {
		close(h.gate)
	}
	h.gate, h.waiting = nil, 0
}
