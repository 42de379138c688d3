package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// prepaying takes a thousand tokens before a request, from a bucket that does not fill up again to speak of.
func prepaying(options ...resilient.RateLimitOption) resilient.Builder {
	return resilient.New("model").Defaults(resilient.None).
		RateLimit(resilient.PerMinute(1), resilient.Burst(10_000), resilient.Cost(func(*http.Request) int { return 1000 })).
		RateLimit(options...)
}

func (w *world) tokens() int64 { return w.registry.Snapshot()[0].RateLimit.Available }

const eventStream = "data: {\"choices\": [{\"delta\": {\"content\": \"hello\"}}]}\n\n" +
	"data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 100, \"completion_tokens\": 50, \"total_tokens\": 150}}\n\n" +
	"data: [DONE]\n\n"

func TestUsageReplacesWhatWasTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		left   int64
	}{
		"in a document":   {200, `{"usage": {"total_tokens": 150}}`, 9850},
		"in a stream":     {200, eventStream, 9850},
		"more than taken": {200, `{"usage": {"total_tokens": 2500}}`, 7500},
		"a debt":          {200, `{"usage": {"total_tokens": 12000}}`, -2000},
		"not told":        {200, `{"choices": []}`, 9000},
		"of an error":     {400, `{"usage": {"total_tokens": 150}}`, 9000},
	} {
		everyProtocol(t, func(t *testing.T, p protocol) {
			t.Run(name, func(t *testing.T) {
				p.bubble(t, saying(c.status, c.body), func(w *world) {
					is := is.New(w.T)
					resp, err := w.client(prepaying(resilient.SettleUsage)).Post(w.URL, "application/json", strings.NewReader("{}"))
					is.NoErr(err)
					is.Equal(w.tokens(), int64(9000)) // taken before it was sent
					is.Equal(read(w.T, resp), c.body) // nothing is held back
					is.Equal(w.tokens(), c.left)      // settled at its end
					is.NoErr(resp.Body.Close())       // and once
					is.Equal(w.tokens(), c.left)
				})
			})
		})
	}
}

func TestUsageIsNotLookedForUnlessAskedFor(t *testing.T) {
	t.Parallel()
	bubble(t, saying(200, eventStream), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(prepaying()).Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(w.tokens(), int64(9000))
	})
}

// A body that is left early may have cost more than was read: nothing comes back.
func TestUsageOfABodyThatIsLeftEarlyGivesNothingBack(t *testing.T) {
	t.Parallel()
	gemini := `data: {"usageMetadata": {"totalTokenCount": 20}}` + "\n\n" + strings.Repeat("data: {}\n\n", 10_000)
	bubble(t, saying(200, gemini), func(w *world) {
		is := is.New(w.T)
		resp, err := w.client(prepaying(resilient.SettleUsage)).Get(w.URL)
		is.NoErr(err)
		_, err = io.CopyN(io.Discard, resp.Body, 100)
		is.NoErr(err)
		is.NoErr(resp.Body.Close())
		is.Equal(w.tokens(), int64(9000))
	})
}

// Bytes arrive as they are sent.
func TestUsageHoldsNothingBack(t *testing.T) {
	t.Parallel()
	bubble(t, saying(200, eventStream), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Handle, httptestx.Send(10), httptestx.Hang)
		resp, err := w.client(prepaying(resilient.SettleUsage)).Get(w.URL)
		is.NoErr(err)
		b := make([]byte, 10)
		_, err = io.ReadFull(resp.Body, b)
		is.NoErr(err) // while the rest is not there
		is.Equal(string(b), eventStream[:10])
		is.NoErr(resp.Body.Close())
	})
}

func TestServersWordLowersTheRateLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers []string
		left    int64
	}{
		"less":    {[]string{"X-Ratelimit-Remaining-Tokens", "1234"}, 1234},
		"more":    {[]string{"X-Ratelimit-Remaining-Tokens", "50000"}, 9000},
		"nothing": {nil, 9000},
		"unknown": {[]string{"X-Ratelimit-Remaining-Tokens", "-1"}, 9000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, saying(200, "", c.headers...), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(prepaying(resilient.HeedServer)).Get(w.URL)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(w.tokens(), c.left)
			})
		})
	}
}

func TestTokensAreEstimatedFromTheBody(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	body := `{"messages": [{"role": "user", "content": "` + strings.Repeat("four", 100) + `"}], "max_tokens": 250}`
	r, _ := http.NewRequest("POST", "http://model.test", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	is.Equal(resilient.EstimateTokens(r), 100+250)
	sent, err := io.ReadAll(r.Body)
	is.NoErr(err)
	is.Equal(string(sent), body) // which is still there
	empty, _ := http.NewRequest("GET", "http://model.test", nil)
	is.Equal(resilient.EstimateTokens(empty), 0)
}
