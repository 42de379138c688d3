package sdks_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// eastThenWest is two places for each service. The request of an SDK has the path and all else that it needs already; host
// and key are the deployment's.
func eastThenWest(keyHeader, keyPrefix string) resilient.Builder {
	return resilient.New("model").
		Defaults(resilient.AI).
		Endpoints(resilient.Ordered,
			resilient.Endpoint{URL: "https://east.test", Header: http.Header{keyHeader: {keyPrefix + eastKey}}},
			resilient.Endpoint{URL: "https://west.test", Header: http.Header{keyHeader: {keyPrefix + westKey}}},
		)
}

// keysOf is the header in which an SDK sends its key.
func (e entry) keysOf() (header, prefix string) {
	switch e.name {
	case "anthropic-sdk-go":
		return "X-Api-Key", ""
	case "azcore", "openai-go on Azure":
		return "Api-Key", ""
	}
	return "Authorization", "Bearer "
}

var keys = map[string]string{"east.test": eastKey, "west.test": westKey}

func TestCallGoesOnToTheSecondDeploymentWithItsOwnKey(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string][]httptestx.Step{
		"429": httptestx.TooManyRequests(30 * time.Second),
		"503": httptestx.Unavailable(30 * time.Second),
		"529": httptestx.Plan(httptestx.Read, httptestx.Status(529, "Retry-After", "30")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e entry, s *httptestx.Server) {
				is := is.New(t)
				s.Config.Handler = &model{keys: keys}
				s.On("east.test/").Do(fault...)
				sdk := e.quiet(build(t, s, eastThenWest(e.keysOf())))
				start := time.Now()
				text, err := sdk.ask(t.Context())
				is.NoErr(err)
				is.Equal(text, "Hello, world!")               // west has answered, which wants its key
				is.Equal(time.Since(start), time.Duration(0)) // at once
				text, err = sdk.ask(t.Context())
				is.NoErr(err)
				is.Equal(text, "Hello, world!")
				is.Equal(hosts(s), "east west west") // east is left alone until its time has come
			})
		})
	}
}

// hosts are the first names of the hosts that requests came for.
func hosts(s *httptestx.Server) string {
	var all []string
	for _, e := range s.Exchanges() {
		host, _, _ := strings.Cut(e.Host, ".")
		all = append(all, host)
	}
	return strings.Join(all, " ")
}

func spillOver() resilient.Builder {
	return resilient.New("model").
		Defaults(resilient.AI).
		Endpoints(resilient.Ordered,
			resilient.Endpoint{
				URL:    "https://east.openai.azure.com",
				Header: http.Header{"Api-Key": {eastKey}},
			},
			resilient.Endpoint{
				URL:    "https://west.openai.azure.com",
				Header: http.Header{"Api-Key": {westKey}},
				Rewrite: func(r *http.Request) { // there it has another name
					r.URL.Path = strings.Replace(r.URL.Path, "/deployments/gpt-4o/", "/deployments/gpt-4o-spare/", 1)
				},
			},
		)
}

func TestSecondDeploymentMayHaveAnotherName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		if e.host != "east.openai.azure.com" {
			t.Skip("only Azure has names of deployments in its paths")
		}
		is := is.New(t)
		s.Config.Handler = &model{keys: map[string]string{"east.openai.azure.com": eastKey, "west.openai.azure.com": westKey}}
		s.On("east.openai.azure.com/").Do(httptestx.TooManyRequests(30 * time.Second)...)
		text, err := e.quiet(build(t, s, spillOver())).ask(t.Context())
		is.NoErr(err)
		is.Equal(text, "Hello, world!") // the second deployment has answered
		is.Equal(s.Exchanges()[0].Path, "/openai/deployments/gpt-4o/chat/completions")
		is.Equal(s.Exchanges()[1].Path, "/openai/deployments/gpt-4o-spare/chat/completions")
		is.Equal(s.Exchanges()[1].Query, "api-version=2024-10-21") // which it keeps
	})
}
