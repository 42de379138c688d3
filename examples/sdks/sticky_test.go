package sdks_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

type conversationKey struct{}

// conversation is what the requests of one conversation have in common: SDKs hand the caller's context on.
func conversation(r *http.Request) string {
	id, _ := r.Context().Value(conversationKey{}).(string)
	return id
}

func stickToOne(east, west resilient.Endpoint) resilient.Builder {
	return resilient.New("model").
		Defaults(resilient.AI).
		Endpoints(resilient.RoundRobin.StickyBy(conversation), east, west)
}

func TestConversationStaysWithItsDeployment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		sdk := e.quiet(build(t, s, stickToOne(resilient.Endpoint{URL: "https://east.test"}, resilient.Endpoint{URL: "https://west.test"})))
		for _, id := range []string{"", "a", "a", "a", "", "a"} {
			_, err := sdk.ask(context.WithValue(t.Context(), conversationKey{}, id))
			is.NoErr(err)
		}
		is.Equal(hosts(s), "east west west west east west") // the others take turns
	})
}
