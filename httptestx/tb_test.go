package httptestx_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fakeT is a testing.TB that keeps what a test would report. end runs the
// cleanups, as the end of a test does.
type fakeT struct {
	testing.TB // nil: whatever is not overridden must not be used
	mu         sync.Mutex
	messages   []string
	logs       []string
	cleanups   []func()
}

// newFakeT returns a fakeT whose end comes with that of t at the latest.
func newFakeT(t *testing.T) *fakeT {
	ft := &fakeT{}
	t.Cleanup(ft.end)
	return ft
}

func (t *fakeT) Helper() {}

func (t *fakeT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, fmt.Sprintf(format, args...))
}

func (t *fakeT) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}

// Fatalf panics with the message where a test would end.
func (t *fakeT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *fakeT) end() {
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}

// report returns all that was reported so far.
func (t *fakeT) report() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.messages, "\n")
}

// logged returns all that was logged so far.
func (t *fakeT) logged() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.logs, "\n")
}

// fatal returns the message with which f ends the test, "" if it does not.
func fatal(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// countingReader counts what is read of it.
type countingReader struct {
	io.Reader
	n atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}
