package soundness_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A tally counts what happened, to show that it did.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what]++
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.n)) {
		fmt.Fprintf(&b, "%8d  %s\n", t.n[what], what)
	}
	return b.String()
}

func (t *tally) count(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[what]
}
