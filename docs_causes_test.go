package resilient_test

import (
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/quota"
	"github.com/matryer/is"
)

// The table of causes in the guide to AI services has each of them once, and says what becomes of it.
func TestDocsTellWhatBecomesOfEachCause(t *testing.T) {
	is := is.New(t)
	told := map[string]string{}
	for _, table := range pageAt(t, "docs/guides/ai.md").tables() {
		retried, counts := table.column("retried"), table.column("the breaker counts")
		for i, cause := range table.column("cause") {
			yes, _, _ := strings.Cut(retried[i], ",")
			told[bare(cause)] = yes + ", " + counts[i]
		}
	}
	want := map[string]string{}
	for c := quota.Money; c <= quota.Server; c++ {
		retried := map[bool]string{true: "yes", false: "no"}[c.Transient()]
		want[c.String()] = retried + ", " + map[quota.Health]string{quota.Ignored: "nothing", quota.Failure: "a failure"}[c.Health()]
	}
	is.Equal(told, want)
}
