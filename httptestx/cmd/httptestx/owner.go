package main

import (
	"fmt"
	"io"
	"sync"
)

// owner is for a server what a test is: it is told what goes wrong, and keeps what is to be done at the
// end.
type owner struct {
	mu       sync.Mutex
	w        io.Writer
	cleanups []func()
}

// fatal is the panic of Fatalf, which must not return.
type fatal string

func (o *owner) Helper() {}

func (o *owner) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

// Errorf writes a message; what the server says begins with its name.
func (o *owner) Errorf(format string, args ...any) { o.Logf(format, args...) }

func (o *owner) Logf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintf(o.w, format+"\n", args...)
}

func (o *owner) Fatalf(format string, args ...any) { panic(fatal(fmt.Sprintf(format, args...))) }

// Write makes an owner the writer of a log.
func (o *owner) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// end does what is to be done.
func (o *owner) end() {
	for i := len(o.cleanups) - 1; i >= 0; i-- {
		o.cleanups[i]()
	}
	o.cleanups = nil
}
