package sdks_test

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go/auth/bearer"
)

// onResilient has the clients that are made from a configuration, such as config.LoadDefaultConfig gives, send through
// this one.
func onResilient(config aws.Config, client *http.Client) aws.Config {
	config.HTTPClient = client
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return config
}

// frankfurt is what config.LoadDefaultConfig makes of AWS_REGION and AWS_BEARER_TOKEN_BEDROCK.
func frankfurt(key string) aws.Config {
	return aws.Config{
		Region:                  "eu-central-1",
		BearerAuthTokenProvider: bearer.StaticTokenProvider{Token: bearer.Token{Value: key}},
		AuthSchemePreference:    []string{"httpBearerAuth"},
	}
}

type bedrock struct{ client *bedrockruntime.Client }

func newBedrock(config aws.Config) bedrock { return bedrock{bedrockruntime.NewFromConfig(config)} }

func (b bedrock) question() []types.Message {
	return []types.Message{{
		Role:    types.ConversationRoleUser,
		Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Say hello."}},
	}}
}

func (b bedrock) ask(ctx context.Context) (string, error) {
	answer, err := b.client.Converse(ctx, &bedrockruntime.ConverseInput{
		ModelId: aws.String("amazon.nova-lite-v1:0"), Messages: b.question(),
	})
	if err != nil {
		return "", err
	}
	message := answer.Output.(*types.ConverseOutputMemberMessage).Value
	return message.Content[0].(*types.ContentBlockMemberText).Value, nil
}

func (b bedrock) listen(ctx context.Context, each func(word string)) error {
	answer, err := b.client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{
		ModelId: aws.String("amazon.nova-lite-v1:0"), Messages: b.question(),
	})
	if err != nil {
		return err
	}
	stream := answer.GetStream()
	defer stream.Close()
	for event := range stream.Events() {
		if delta, ok := event.(*types.ConverseStreamOutputMemberContentBlockDelta); ok {
			each(delta.Value.Delta.(*types.ContentBlockDeltaMemberText).Value)
		}
	}
	return stream.Err()
}

func (bedrock) response(err error) *http.Response {
	if e := (*awshttp.ResponseError)(nil); errors.As(err, &e) {
		return e.Response.Response
	}
	return nil
}
