package sdks_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func newAnthropic(client *http.Client, key string) anthropic.Client {
	return anthropic.NewClient(
		option.WithAPIKey(key),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	)
}

type claude struct{ client anthropic.Client }

func (c claude) question() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     "claude-sonnet-4-5",
		MaxTokens: 100,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Say hello."))},
	}
}

func (c claude) ask(ctx context.Context) (string, error) {
	answer, err := c.client.Messages.New(ctx, c.question())
	if err != nil {
		return "", err
	}
	return answer.Content[0].Text, nil
}

func (c claude) listen(ctx context.Context, each func(word string)) error {
	stream := c.client.Messages.NewStreaming(ctx, c.question())
	defer stream.Close()
	for stream.Next() {
		each(stream.Current().Delta.Text)
	}
	return stream.Err()
}

func (claude) response(err error) *http.Response {
	if e := (*anthropic.Error)(nil); errors.As(err, &e) {
		return e.Response
	}
	return nil
}
