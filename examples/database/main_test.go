package main

import (
	"strings"
	"testing"
	"testing/synctest"
)

const story = `
Locked for 100ms: taken at attempt 4, 7 copies are left.
A hundred copies of Walden: constraint failed: CHECK constraint failed: copies >= 0 (275). Attempts: 1.
A hundred copies of Emma: sql: no rows in result set. Attempts: 1.
Locked, and 50ms to spare: database is locked (5) (SQLITE_BUSY). Attempts: 2, for the next would come after the deadline.
Locked for good, 60 calls: 24 attempts, then 42 calls refused by the breaker; 16 retries denied by the budget.
The other part of the program has the same breaker: resilient: client "stock": circuit breaker is open, retry after 5s (last failure: database is locked (5) (SQLITE_BUSY)).
`

// In virtual time, so the waits are exact and take none.
func TestStoryIsWhatHappens(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		if err := run(t.Context(), &told, folder); err != nil {
			t.Fatal(err)
		}
		if told := "\n" + told.String(); told != story {
			t.Errorf("told is%s\nwanted was%s", told, story)
		}
	})
}
