package sdks_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// A model answers "Hello, world!" in the form of each service, whole or as two events.
type model struct {
	keys map[string]string // what a host wants as its key; a host that is not here takes any
	seen chan string       // if not nil, an event is not sent before the caller has seen the one before
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Stream bool }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &asked)
	if want := m.keys[r.Host]; want != "" && want != key(r.Header) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/chat/completions") && asked.Stream:
		m.send(w, "text/event-stream", func(word string) string {
			return `data: {"choices":[{"index":0,"delta":{"content":"` + word + `"}}]}` + "\n\n"
		})
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	case strings.HasSuffix(path, "/chat/completions"):
		answer(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello, world!"}}],"usage":{"total_tokens":12}}`)
	case strings.HasSuffix(path, "/messages") && asked.Stream:
		m.send(w, "text/event-stream", func(word string) string {
			return "event: content_block_delta\n" +
				`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + word + `"}}` + "\n\n"
		})
	case strings.HasSuffix(path, "/messages"):
		answer(w, `{"type":"message","content":[{"type":"text","text":"Hello, world!"}],"usage":{"input_tokens":8,"output_tokens":4}}`)
	case strings.HasSuffix(path, "/converse-stream"):
		m.send(w, "application/vnd.amazon.eventstream", func(word string) string {
			return amazonEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+word+`"}}`)
		})
	case strings.HasSuffix(path, "/converse"):
		answer(w, `{"output":{"message":{"role":"assistant","content":[{"text":"Hello, world!"}]}},"stopReason":"end_turn"}`)
	default:
		http.NotFound(w, r)
	}
}

// send sends an event for each word.
func (m *model) send(w http.ResponseWriter, contentType string, event func(word string) string) {
	w.Header().Set("Content-Type", contentType)
	for _, word := range []string{"Hello, ", "world!"} {
		_, _ = io.WriteString(w, event(word))
		_ = http.NewResponseController(w).Flush()
		if m.seen != nil && <-m.seen != word {
			return
		}
	}
}

func answer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// key is what a request carries as its key, in the header of its service.
func key(h http.Header) string {
	for _, name := range []string{"Api-Key", "X-Api-Key"} {
		if h.Get(name) != "" {
			return h.Get(name)
		}
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// amazonEvent is one in the form of application/vnd.amazon.eventstream.
func amazonEvent(kind, payload string) string {
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue(kind))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = []byte(payload)
	var text strings.Builder
	if err := eventstream.NewEncoder().Encode(&text, m); err != nil {
		panic(fmt.Sprint("an event can't be encoded: ", err))
	}
	return text.String()
}
