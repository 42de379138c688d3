package resilient

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
)

// Slog returns an observer that writes a line for each decision. Its message is what was decided, and its attributes have
// the words of events and metrics. There is no header, path, query, user or text of an error in it: a caller has those, and
// can log what he knows to be harmless.
//
//	resilient.New("inventory").Observe(resilient.Slog(slog.Default()))
//
// What goes well is at Debug: attempts, and calls that end with a response. What is done about a failure, a retry for
// instance, is at Info, and so are calls that end with an error and circuits that close. What fails for it, denials,
// rejections and circuits that open, is at Warn. [LogAt] changes that.
func Slog(logger *slog.Logger, options ...SlogOption) Observer {
	if logger == nil {
		return nil // which Observe refuses
	}
	levels := map[string]slog.Level{}
	for _, o := range options {
		if o != nil {
			o(levels)
		}
	}
	return func(ctx context.Context, e Event) {
		level, given := levels[kind(e)]
		if !given {
			level = usualLevel(e)
		}
		if logger.Enabled(ctx, level) {
			logger.LogAttrs(ctx, level, strings.ReplaceAll(kind(e), "_", " "), logged(e)...)
		}
	}
}

// A SlogOption changes what [Slog] writes.
type SlogOption func(levels map[string]slog.Level)

// LogAt sets the level for kinds of events, which are given by a value of each:
//
//	resilient.LogAt(slog.LevelDebug, resilient.RetryScheduled{}, resilient.EndpointSkipped{})
func LogAt(level slog.Level, kinds ...Event) SlogOption {
	return func(levels map[string]slog.Level) {
		for _, e := range kinds {
			levels[kind(e)] = level
		}
	}
}

func usualLevel(e Event) slog.Level {
	switch e := e.(type) {
	case RetryDenied, Rejected, TransportReplay, BodyCut:
		return slog.LevelWarn
	case BreakerChanged:
		if e.To != "closed" {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case RetryScheduled, Redispatched, EndpointSkipped, Waited:
		return slog.LevelInfo
	case CallDone:
		if e.Err != nil {
			return slog.LevelInfo
		}
	}
	return slog.LevelDebug
}

// logged is what the line for an event says.
func logged(e Event) []slog.Attr {
	switch e := e.(type) {
	case AttemptDone:
		return loggedAttempt(e.Source, e.Attempt)
	case RetryScheduled:
		return append(loggedAttempt(e.Source, e.Failed), slog.Duration("delay", e.Delay), slog.String("delay_source", delaySource(e)))
	case RetryDenied:
		return append(loggedAttempt(e.Source, e.Failed), slog.String("reason", e.Reason))
	case Redispatched:
		return loggedAttempt(e.Source, e.Failed)
	case TransportReplay:
		return loggedAttempt(e.Source, e.During)
	case EndpointSkipped:
		return append(loggedSource(e.Source, e.Endpoint), slog.String("gate", e.Gate), slog.Duration("retry_after", e.RetryAfter))
	case Rejected:
		return append(loggedSource(e.Source, ""), slog.String("gate", e.Gate), slog.Duration("retry_after", e.RetryAfter))
	case BreakerChanged:
		return append(loggedSource(e.Source, e.Endpoint), slog.String("from", e.From), slog.String("state", e.To),
			slog.Uint64("requests", e.Requests), slog.Uint64("failures", e.Failures), slog.Duration("break", e.Break))
	case Waited:
		return append(loggedSource(e.Source, ""), slog.String("gate", e.Gate), slog.Duration("wait", e.Duration))
	case BodyCut:
		return append(loggedSource(e.Source, e.Endpoint), slog.String("method", methodOf(e.Request)),
			slog.String("error", e.Limit), slog.Duration("limit", e.After))
	case CallDone:
		attrs := append(loggedSource(e.Source, ""), slog.String("method", methodOf(e.Request)), slog.Int("attempts", e.Attempts))
		return append(loggedEnding(attrs, e.Status, e.Err), slog.Duration("duration", e.Duration))
	}
	return nil
}

// loggedSource is which client it is, and which part of its state.
func loggedSource(s Source, endpoint string) []slog.Attr {
	attrs := []slog.Attr{slog.String("client", s.Client)}
	if s.Authority != "" {
		attrs = append(attrs, slog.String("authority", s.Authority))
	}
	if endpoint != "" {
		attrs = append(attrs, slog.String("endpoint", endpoint))
	}
	return attrs
}

// loggedAttempt is which attempt it was, and what it came to.
func loggedAttempt(s Source, a Attempt) []slog.Attr {
	attrs := append(loggedSource(s, a.Endpoint), slog.String("method", methodOf(a.Request)))
	if a.Endpoint == "" && a.Request.Method != methodExecute {
		attrs = append(attrs, slog.String("server", authorityOf(a.Request.URL).host))
	}
	attrs = append(attrs, slog.Int("attempt", a.Number), slog.String("conclusion", a.Conclusion.String()))
	if a.Cause != "" {
		attrs = append(attrs, slog.String("cause", a.Cause))
	}
	return append(loggedEnding(attrs, a.status(), a.Err), slog.Duration("duration", a.Duration))
}

// loggedEnding adds the status and what went wrong, if there is any.
func loggedEnding(attrs []slog.Attr, status int, err error) []slog.Attr {
	if status != 0 {
		attrs = append(attrs, slog.Int("status", status))
	}
	if wrong := ending(status, err); wrong != "" && err != nil {
		attrs = append(attrs, slog.String("error", wrong))
	}
	return attrs
}

func methodOf(r *http.Request) string { return cmp.Or(r.Method, http.MethodGet) }
