package sdks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// A function whose errors the pipeline understands: for an SDK that takes no client.
func complete(ctx context.Context, p *resilient.Pipeline, client openai.Client, prompt openai.ChatCompletionNewParams) (string, error) {
	return resilient.Execute(ctx, p, func(ctx context.Context) (string, error) {
		answer, err := client.Chat.Completions.New(ctx, prompt)
		if err != nil {
			return "", inOurWords(err)
		}
		return answer.Choices[0].Message.Content, nil
	})
}

// inOurWords says whether an error of the SDK may pass, and when.
func inOurWords(err error) error {
	var e *openai.Error
	switch {
	case !errors.As(err, &e):
		return err // there was no answer
	case e.StatusCode < 500 && e.StatusCode != http.StatusTooManyRequests, e.Code == "insufficient_quota":
		return backoff.Permanent(err)
	}
	if seconds, bad := strconv.Atoi(e.Response.Header.Get("Retry-After")); bad == nil {
		return fmt.Errorf("%w (%w)", err, backoff.RetryAfter(seconds))
	}
	return err
}

// executing runs a test in virtual time, with an SDK that knows nothing of this library.
func executing(t *testing.T, test func(*testing.T, *httptestx.Server, func() (string, error), *resilient.Registry)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := httptestx.NewServer(t, &model{}, httptestx.WithTLS())
		registry := resilient.NewRegistry()
		p, err := resilient.New("model").Defaults(resilient.AI).Registry(registry).BuildPipeline()
		if err != nil {
			t.Fatal(err)
		}
		client := openai.NewClient(option.WithAPIKey(eastKey), option.WithHTTPClient(s.Client()), option.WithMaxRetries(0))
		test(t, s, func() (string, error) { return complete(t.Context(), p, client, openAI{}.question()) }, registry)
	})
}

func TestSDKInAFunctionIsCalledAgainWhenTheServerSays(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, s *httptestx.Server, call func() (string, error), _ *resilient.Registry) {
		is := is.New(t)
		s.On("/").First(2).Do(httptestx.TooManyRequests(7 * time.Second)...)
		start := time.Now()
		text, err := call()
		is.NoErr(err)
		is.Equal(text, "Hello, world!")             // the third answer
		is.Equal(time.Since(start), 14*time.Second) // after both waits
		is.Equal(len(s.Exchanges()), 3)             // each of which was sent once
	})
}

func TestSDKInAFunctionIsNotCalledAgainForWhatDoesNotPass(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, s *httptestx.Server, call func() (string, error), _ *resilient.Registry) {
		is := is.New(t)
		s.On("/").Do(httptestx.Read, httptestx.Status(401))
		_, err := call()
		var e *openai.Error
		is.True(errors.As(err, &e)) // the SDK's own error
		is.Equal(e.StatusCode, 401)
		is.Equal(len(s.Exchanges()), 1) // at once
	})
}

// The breaker is that of the clients of the name.
func TestFunctionsOfASDKOpenTheCircuitOfTheirName(t *testing.T) {
	t.Parallel()
	executing(t, func(t *testing.T, s *httptestx.Server, call func() (string, error), registry *resilient.Registry) {
		is := is.New(t)
		s.On("/").Do(httptestx.Unavailable(0)...)
		for range 5 {
			_, err := call()
			is.True(err != nil)
		}
		client, err := resilient.New("model").Defaults(resilient.AI).Registry(registry).Transport(s.Client().Transport).Build()
		is.NoErr(err)
		sent := len(s.Exchanges())
		_, err = openAI{newOpenAI(client, eastKey)}.ask(t.Context())
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // found in the SDK's error
		is.Equal(len(s.Exchanges()), sent)                // nothing was sent
	})
}
