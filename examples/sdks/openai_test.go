package sdks_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"
)

func newOpenAI(client *http.Client, key string) openai.Client {
	return openai.NewClient(
		option.WithAPIKey(key),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	)
}

func newAzureOpenAI(client *http.Client, key string) openai.Client {
	return openai.NewClient(
		azure.WithEndpoint("https://east.openai.azure.com", "2024-10-21"),
		azure.WithAPIKey(key),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	)
}

type openAI struct{ client openai.Client }

func (o openAI) question() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "gpt-4o",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Say hello.")},
	}
}

func (o openAI) ask(ctx context.Context) (string, error) {
	answer, err := o.client.Chat.Completions.New(ctx, o.question())
	if err != nil {
		return "", err
	}
	return answer.Choices[0].Message.Content, nil
}

func (o openAI) listen(ctx context.Context, each func(word string)) error {
	stream := o.client.Chat.Completions.NewStreaming(ctx, o.question())
	defer stream.Close()
	for stream.Next() {
		each(stream.Current().Choices[0].Delta.Content)
	}
	return stream.Err()
}

func (openAI) response(err error) *http.Response {
	if e := (*openai.Error)(nil); errors.As(err, &e) {
		return e.Response
	}
	return nil
}
