package resilient_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// logTo returns a logger whose lines have no time, and how to read them.
func logTo(level slog.Level) (*slog.Logger, func() []string) {
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(h), func() []string { return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") }
}

func TestSlogHasALineForEachDecision(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		logger, lines := logTo(slog.LevelDebug)
		c := w.client(resilient.New("orders").Defaults(resilient.None).Observe(resilient.Slog(logger)).
			Retry(resilient.MaxRetries(1), every(time.Second)).
			Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2), resilient.BreakDuration(15*time.Second)))
		for range 2 {
			if resp, err := c.Get(w.URL + "/path?query"); err == nil {
				read(w.T, resp)
			}
		}
		attempt := "client=orders method=GET server=httptestx.test attempt=1 conclusion=unprocessed status=503 duration=0s"
		second := strings.Replace(attempt, "attempt=1", "attempt=2", 1)
		is.Equal(lines(), []string{
			`level=DEBUG msg="attempt done" ` + attempt,
			`level=INFO msg="retry scheduled" ` + attempt + ` delay=1s delay_source=backoff`,
			`level=DEBUG msg="attempt done" ` + second,
			`level=WARN msg="breaker changed" client=orders from=closed state=open requests=2 failures=2 break=15s`,
			`level=WARN msg="retry denied" ` + second + ` reason=attempts`,
			`level=DEBUG msg="call done" client=orders method=GET attempts=2 status=503 duration=1s`,
			`level=WARN msg=rejected client=orders gate=circuit_breaker retry_after=15s`,
			`level=INFO msg="call done" client=orders method=GET attempts=0 error=circuit_breaker duration=0s`,
		})
	})
}

func TestSlogSaysNothingAtInfoWhileAllGoesWell(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		logger, lines := logTo(slog.LevelInfo)
		c := w.client(resilient.New("orders").Observe(resilient.Slog(logger)))
		for range 3 {
			resp, err := c.Get(w.URL)
			is.NoErr(err)
			read(w.T, resp)
		}
		is.Equal(lines(), []string{""})
	})
}

func TestSlogLevelsAreSetForKindsOfEvents(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Script(httptestx.Unavailable(0))
		logger, lines := logTo(slog.LevelInfo)
		c := w.client(retrying(every(time.Second)).Observe(resilient.Slog(logger,
			resilient.LogAt(slog.LevelDebug, resilient.RetryScheduled{}, resilient.AttemptDone{}),
			resilient.LogAt(slog.LevelError, resilient.CallDone{}))))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(len(lines()), 1) // the retry is not there any more
		is.True(strings.HasPrefix(lines()[0], `level=ERROR msg="call done"`))
	})
}

// A handler may find a trace there, and a level that is the request's own.
func TestSlogPassesTheCallersContext(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		type key struct{}
		var seen []any
		logger := slog.New(handlerFunc(func(ctx context.Context, _ slog.Record) { seen = append(seen, ctx.Value(key{})) }))
		c := w.client(retrying().Observe(resilient.Slog(logger)))
		r, _ := w.reported("GET", "")
		resp, err := c.Do(r.WithContext(context.WithValue(w.Context(), key{}, "caller's")))
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(seen, []any{"caller's", "caller's"})
	})
}

// A handlerFunc is a function as a handler of all levels.
type handlerFunc func(context.Context, slog.Record)

func (f handlerFunc) Handle(ctx context.Context, r slog.Record) error { f(ctx, r); return nil }
func (handlerFunc) Enabled(context.Context, slog.Level) bool          { return true }
func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler              { return f }
func (f handlerFunc) WithGroup(string) slog.Handler                   { return f }
