package sdks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// azureOptions is what every client of Azure's SDKs takes as its last argument.
func azureOptions(client *http.Client) *azcore.ClientOptions {
	return &azcore.ClientOptions{
		Transport: client,
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

// An azureCore asks as the clients that are made from azcore do.
type azureCore struct{ client *azcore.Client }

func newAzureCore(options *azcore.ClientOptions, key string) azureCore {
	auth := runtime.NewKeyCredentialPolicy(azcore.NewKeyCredential(key), "Api-Key", nil)
	client, err := azcore.NewClient("sdks", "v1.0.0", runtime.PipelineOptions{PerRetry: []policy.Policy{auth}}, options)
	if err != nil {
		panic(err)
	}
	return azureCore{client}
}

func (a azureCore) do(ctx context.Context, body string, prepare func(*policy.Request)) (*http.Response, error) {
	const url = "https://east.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
	r, err := runtime.NewRequest(ctx, http.MethodPost, url)
	if err != nil {
		return nil, err
	}
	if err := r.SetBody(readSeekNopCloser{strings.NewReader(body)}, "application/json"); err != nil {
		return nil, err
	}
	prepare(r)
	resp, err := a.client.Pipeline().Do(r)
	if err == nil && !runtime.HasStatusCode(resp, http.StatusOK) {
		err = runtime.NewResponseError(resp)
	}
	return resp, err
}

type readSeekNopCloser struct{ *strings.Reader }

func (readSeekNopCloser) Close() error { return nil }

func (a azureCore) ask(ctx context.Context) (string, error) {
	resp, err := a.do(ctx, `{"messages":[{"role":"user","content":"Say hello."}]}`, func(*policy.Request) {})
	if err != nil {
		return "", err
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	err = runtime.UnmarshalAsJSON(resp, &answer)
	return answer.Choices[0].Message.Content, err
}

func (a azureCore) listen(ctx context.Context, each func(word string)) error {
	resp, err := a.do(ctx, `{"stream":true,"messages":[{"role":"user","content":"Say hello."}]}`, runtime.SkipBodyDownload)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			if err := json.Unmarshal([]byte("{"+data), &event); err != nil {
				return err
			}
			each(event.Choices[0].Delta.Content)
		}
	}
	return lines.Err()
}

func (azureCore) response(err error) *http.Response {
	if e := (*azcore.ResponseError)(nil); errors.As(err, &e) {
		return e.RawResponse
	}
	return nil
}
