package sdks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// The server sends the second event when the caller has seen the first. If anything on the way held bytes back, both would
// wait for each other, until the client gives the body up.
func TestEventOfAStreamIsSeenBeforeTheNextIsSent(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]resilient.Builder{
		"AI": resilient.New("model").Defaults(resilient.AI),
		"with everything that looks at the body": resilient.New("model").Defaults(resilient.AI).
			RateLimit(resilient.PerMinute(100_000), resilient.Cost(resilient.EstimateTokens), resilient.SettleUsage).
			Timeout(resilient.TotalIncludesBody(true)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e entry, s *httptestx.Server) {
				is := is.New(t)
				m := &model{seen: make(chan string)}
				s.Config.Handler = m
				var words []string
				err := e.quiet(build(t, s, b)).listen(t.Context(), func(word string) {
					words = append(words, word)
					m.seen <- word
				})
				is.NoErr(err)
				is.Equal(strings.Join(words, "|"), "Hello, |world!") // as two events
				is.Equal(len(s.Exchanges()), 1)                      // of one answer
			})
		})
	}
}

// That a stream is refused at first is nothing that its reader sees.
func TestStreamOfABusyServerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		s.On("/").First(1).Do(httptestx.TooManyRequests(7 * time.Second)...)
		var words []string
		err := e.quiet(build(t, s, resilient.New("model").Defaults(resilient.AI))).listen(t.Context(), func(word string) {
			words = append(words, word)
		})
		is.NoErr(err)
		is.Equal(strings.Join(words, "|"), "Hello, |world!") // each once
		is.Equal(len(s.Exchanges()), 2)                      // after a refusal
	})
}

// What the caller has seen can't be taken back: a stream that breaks off is not begun again.
func TestBrokenStreamIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		s.On("/").Do(httptestx.TruncatedBody(60)...)
		err := e.quiet(build(t, s, resilient.New("model").Defaults(resilient.AI))).listen(t.Context(), func(string) {})
		is.True(err != nil)             // the SDK tells of it
		is.Equal(len(s.Exchanges()), 1) // and that's all
	})
}
