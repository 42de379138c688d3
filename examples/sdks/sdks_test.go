package sdks_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/matryer/is"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"
)

// An sdk is a client of a service, through which a caller talks to a model.
type sdk interface {
	ask(context.Context) (string, error)
	listen(ctx context.Context, each func(word string)) error
	response(error) *http.Response // what an error of the SDK is about, or nil
}

// An entry is an SDK with its own retries off, and as it comes.
type entry struct {
	name     string
	quiet    func(client *http.Client) sdk
	asItIs   func(client *http.Client) sdk
	requests int // that it makes of a call to a server that is always busy
	host     string
}

const eastKey, westKey = "the key of east", "the key of west"

var entries = []entry{
	{
		name:  "openai-go",
		quiet: func(c *http.Client) sdk { return openAI{newOpenAI(c, eastKey)} },
		asItIs: func(c *http.Client) sdk {
			return openAI{openai.NewClient(option.WithHTTPClient(c), option.WithAPIKey(eastKey))}
		},
		requests: 3,
		host:     "api.openai.com",
	},
	{
		name:  "openai-go on Azure",
		quiet: func(c *http.Client) sdk { return openAI{newAzureOpenAI(c, eastKey)} },
		asItIs: func(c *http.Client) sdk {
			return openAI{openai.NewClient(option.WithHTTPClient(c),
				azure.WithEndpoint("https://east.openai.azure.com", "2024-10-21"), azure.WithAPIKey(eastKey))}
		},
		requests: 3,
		host:     "east.openai.azure.com",
	},
	{
		name:  "anthropic-sdk-go",
		quiet: func(c *http.Client) sdk { return claude{newAnthropic(c, eastKey)} },
		asItIs: func(c *http.Client) sdk {
			return claude{anthropic.NewClient(anthropicoption.WithHTTPClient(c), anthropicoption.WithAPIKey(eastKey))}
		},
		requests: 3,
		host:     "api.anthropic.com",
	},
	{
		name:     "azcore",
		quiet:    func(c *http.Client) sdk { return newAzureCore(azureOptions(c), eastKey) },
		asItIs:   func(c *http.Client) sdk { return newAzureCore(&azcore.ClientOptions{Transport: c}, eastKey) },
		requests: 4,
		host:     "east.openai.azure.com",
	},
	{
		name:  "aws-sdk-go-v2",
		quiet: func(c *http.Client) sdk { return newBedrock(onResilient(frankfurt(eastKey), c)) },
		asItIs: func(c *http.Client) sdk {
			config := frankfurt(eastKey)
			config.HTTPClient = c
			return newBedrock(config)
		},
		requests: 3,
		host:     "bedrock-runtime.eu-central-1.amazonaws.com",
	},
}

// each runs a test for each SDK, over HTTP/1.1 and over HTTP/2 as the services speak it, in virtual time. The server in memory
// plays the hosts of all services, with TLS, so the SDKs are set up as they are for the real ones.
func each(t *testing.T, test func(t *testing.T, e entry, s *httptestx.Server)) {
	t.Helper()
	var http1, http2 http.Protocols
	http1.SetHTTP1(true)
	http2.SetHTTP2(true)
	for _, e := range entries {
		for spoken, protocols := range map[string]http.Protocols{"HTTP/1.1": http1, "HTTP/2.0": http2} {
			t.Run(e.name+"/"+spoken, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := httptestx.NewServer(t, &model{}, httptestx.WithTLS(), httptestx.WithProtocols(protocols))
					test(t, e, s)
					for _, x := range s.Exchanges() {
						is.New(t).Equal(x.Proto, spoken) // or it says nothing about this protocol
					}
				})
			})
		}
	}
}

// build builds a client that connects to the server whatever the host, and shares nothing with other tests.
func build(t *testing.T, s *httptestx.Server, b resilient.Builder) *http.Client {
	t.Helper()
	c, err := b.Transport(s.Client().Transport).Registry(resilient.NewRegistry()).Build()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
