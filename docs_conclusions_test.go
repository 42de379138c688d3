package resilient_test

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The guide on what is concluded says of each status what a Conservative client does.
func TestDocsTellWhatIsConcludedFromAStatus(t *testing.T) {
	found := 0
	for _, table := range pageAt(t, "docs/guides/idempotency.md").tables() {
		for _, row := range table.rows {
			if !strings.HasPrefix(row[0], "status ") {
				continue
			}
			for _, text := range regexp.MustCompile(`\d{3}`).FindAllString(row[0], -1) {
				found++
				status, _ := strconv.Atoi(text)
				t.Run(text, func(t *testing.T) {
					is := is.New(t)
					get, post := concluded(t, "GET", status), concluded(t, "POST", status)
					is.Equal(get[:2], row[1:3]) // conclusion, worth a retry
					is.Equal(get[2], row[3])    // a GET
					is.Equal(post[2], row[4])   // a POST
				})
			}
		}
	}
	is.New(t).Equal(found, 10) // they are found
}

// concluded is the conclusion from a status, whether it is worth a retry, and what becomes of the request, as the guide
// has it.
func concluded(t *testing.T, method string, status int) (cells [3]string) {
	t.Helper()
	client := resilient.New("x").Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0)).
		Transport(scripted(status, 200)).Registry(resilient.NewRegistry()).
		Observe(func(_ context.Context, e resilient.Event) {
			switch e := e.(type) {
			case resilient.AttemptDone:
				if e.Number == 1 {
					cells[0] = e.Conclusion.String()
					cells[1] = map[bool]string{true: "yes", false: "no"}[e.Transient]
				}
			case resilient.RetryScheduled:
				cells[2] = "repeated"
			case resilient.RetryDenied:
				cells[2] = "not repeated"
			}
		}).MustBuild()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://x.test", nil)
	is.New(t).NoErr(err)
	resp, err := client.Do(r)
	is.New(t).NoErr(err)
	is.New(t).NoErr(resp.Body.Close())
	return cells
}
