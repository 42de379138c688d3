package resilient_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestCallerMayDoWithoutRetries(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "busy"), func(w *world) {
		is := is.New(w.T)
		r, report := w.reported("GET", "")
		resp, err := w.client(retrying(every(time.Second))).Do(r.WithContext(resilient.WithoutRetries(r.Context())))
		is.NoErr(err)
		is.Equal(read(w.T, resp), "busy")    // the one answer
		is.Equal(w.arrived(), 1)             // to one request
		is.Equal(report.Ended(), "disabled") // and it is told why
	})
}

func TestCallerMayHaveAnotherAttemptTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client  time.Duration // 0: off
		call    time.Duration
		want    time.Duration
		timeout bool
	}{
		"shorter":            {5 * time.Second, time.Second, time.Second, true},
		"longer":             {time.Second, time.Minute, 10 * time.Second, false},
		"none":               {time.Second, 0, 10 * time.Second, false},
		"where there is not": {0, time.Second, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Delay(10*time.Second), httptestx.Handle)
				client := w.client(retrying(resilient.Off).Timeout(resilient.PerAttempt(c.client)))
				ctx := resilient.WithAttemptTimeout(w.Context(), c.call)
				r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
				start := time.Now()
				resp, err := client.Do(r)
				is.Equal(errors.Is(err, resilient.ErrAttemptTimeout), c.timeout) // it is cut, or not
				is.Equal(time.Since(start), c.want)                              // when its own time is over
				if err == nil {
					read(w.T, resp)
				}
			})
		})
	}
}
