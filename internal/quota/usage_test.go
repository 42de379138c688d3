package quota_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/quota"
	"github.com/matryer/is"
)

// untold is what an answer is said to cost if it does not say so.
const untold = -1

// An answer is a body, and the tokens that it tells.
type answer struct {
	name, body string
	want       int64
}

func documents() []answer {
	return []answer{
		{"OpenAI chat", `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",
			"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,
			"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":7}}}`, 29},
		{"OpenAI embeddings", `{"object":"list","data":[{"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`, 8},
		{"OpenAI without a total", `{"usage":{"prompt_tokens":8,"completion_tokens":2}}`, 10},
		{"OpenAI responses", `{"id":"resp_1","output":[],"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":0},
			"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":123},"user":null}`, 123},
		{"Azure", `{"choices":[{"content_filter_results":{"hate":{"filtered":false}}}],"usage":{"completion_tokens":36,
			"completion_tokens_details":{"audio_tokens":0},"prompt_tokens":31,"total_tokens":67}}`, 67},
		{"Anthropic", `{"type":"message","content":[{"type":"text","text":"Hi"}],"usage":{"input_tokens":2095,
			"cache_creation_input_tokens":100,"cache_read_input_tokens":4000,"output_tokens":503,
			"cache_creation":{"ephemeral_5m_input_tokens":100}}}`, 2698},
		{"Gemini", `{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"promptTokenCount":4,
			"candidatesTokenCount":6,"totalTokenCount":25,"thoughtsTokenCount":15,
			"promptTokensDetails":[{"modality":"TEXT","tokenCount":4}]}}`, 25},
		{"Gemini without a total", `{"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":6,"thoughtsTokenCount":15}}`, 25},
		{"Gemini in an array", `[{"candidates":[],"usageMetadata":{"totalTokenCount":11}}
			,{"candidates":[],"usageMetadata":{"totalTokenCount":31}}]`, 31},
		{"lines of JSON", "{\"usage\":{\"total_tokens\":5}}\n{\"usage\":{\"total_tokens\":7}}\n", 7},
		{"a byte order mark", "\xef\xbb\xbf {\"usage\":{\"total_tokens\":5}}", 5},
		{"no usage", `{"error":{"message":"no"}}`, untold},
		{"null", `{"usage":null,"usageMetadata":null}`, untold},
		{"zeros", `{"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`, untold},
		{"by duration", `{"text":"hi","usage":{"type":"duration","seconds":5}}`, untold},
		{"negative", `{"usage":{"total_tokens":-1}}`, untold},
		{"fractions", `{"usage":{"total_tokens":1.5}}`, untold},
		{"strings", `{"usage":{"total_tokens":"15"}}`, untold},
		{"a list", `{"usage":[{"total_tokens":15}]}`, untold},
		{"in a string", `{"content":"\"usage\":{\"total_tokens\":9}, {\"usage\":{\"total_tokens\":9}}","a":"\\"}`, untold},
		{"deeper down", `{"choices":[{"usage":{"total_tokens":9}}],"a":{"usage":{"total_tokens":9}},
			"message":{"a":{"usage":{"total_tokens":9}}},"response":[{"usage":{"total_tokens":9}}],"usage":{"total_tokens":3}}`, 3},
		{"deeper in it", `{"usage":{"details":{"total_tokens":9},"list":[{"total_tokens":9}],"total_tokens":3}}`, 3},
		{"as a value", `{"a":"usage","b":{"total_tokens":9},"c":["usage",{"total_tokens":9}]}`, untold},
		{"the number of a member before", `{"usage":{"total_tokens":3,"x":9}}`, 3},
		{"deeper in its like", `{"usage":{"usage":{"usage":{"usage":{"usage":{"total_tokens":9}}}},"total_tokens":3}}`, 3},
		{"a quote in a string", `{"a":"\"","usage":{"total_tokens":3}}`, 3},
		{"a long name and a long number", `{"usage":{"` + strings.Repeat("x", 97) + `":1,"total_tokens":` +
			strings.Repeat("9", 97) + `,"input_tokens":3}}`, 3},
		{"large", `{"usage":{"input_tokens":9223372036854775807,"output_tokens":9}}`, math.MaxInt64},
		{"after much else", `{"a":"` + strings.Repeat(`x\"`, 100_000) + `","b":[` + strings.Repeat("[1],", 50_000) +
			`1],"usage":{"total_tokens":3}}`, 3},
		{"cut off", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tok`, untold},
		{"empty", "", untold},
		{"HTML", "<html>\n{\"usage\":{\"total_tokens\":5}}", untold},
	}
}

const (
	openAIStream = `data: {"id":"1","choices":[{"delta":{"content":"He said \"usage\":{\"total_tokens\":99}"}}],"usage":null}

data: {"id":"1","choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"1","choices":[],"usage":{"prompt_tokens":17,"completion_tokens":13,"total_tokens":30}}

data: [DONE]

`
	responsesStream = `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress","usage":null}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"data: {}"}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":37,"output_tokens":11,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":48}}}

`
	anthropicStart = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":25,"cache_creation_input_tokens":7,"cache_read_input_tokens":90,"output_tokens":1}}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

`
	anthropicEnd = `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

`
	geminiStream = `data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}],"usageMetadata": {"promptTokenCount": 4,"totalTokenCount": 9}}

data: {"candidates": [{"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 4,"candidatesTokenCount": 22,"totalTokenCount": 26}}

`
)

func streams() []answer {
	return []answer{
		{"OpenAI", openAIStream, 30},
		{"OpenAI, on the last chunk but one", strings.ReplaceAll(`data: {"choices":[{"finish_reason":"stop"}],"usage":{"total_tokens":30}}
			data: {"choices":[]}`, "\t", ""), 30},
		{"OpenAI without include_usage", `data: {"choices":[{"delta":{"content":"Hi"}}]}` + "\n\ndata: [DONE]\n\n", untold},
		{"OpenAI responses", responsesStream, 48},
		{"Anthropic", anthropicStart + anthropicEnd, 47},
		{"Anthropic, all in the delta", "data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}\n\n", 11},
		{"Anthropic, cut off", anthropicStart, untold},
		{"Anthropic, with a delta that tells nothing", anthropicStart + "data: {\"usage\":{}}\n\n", untold},
		{"Gemini", geminiStream, 26},
		{"Gemini, cut off", geminiStream[:strings.Index(geminiStream, "\n\n")+2], 9},
		{"an error inside", "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", untold},
		{"data of several lines", "data: {\"usage\":\ndata: {\"total_tokens\":12\ndata:3}}\n\n", 12}, // 12 and 3 are two words
		{"data of several lines, whole", "data: {\"usage\":\ndata: {\"total_tokens\"\ndata:\ndata::123}}\n\n", 123},
		{"data in an event that broke off", "data: {\"a\":\"b\n\ndata: {\"usage\":{\"total_tokens\":5}}\n\n", 5},
		{"ends of several kinds", ": ping\rdata: {\"usage\":\ndata:{\"total_tokens\":5}}\n\n", 5},
		{"closed too often", "data: }]}{\"usage\":{\"total_tokens\":5}}\n\n", 5},
		{"other fields", ": {\"usage\":{\"total_tokens\":5}}\nid: 1\ndat\ndatas: {\"usage\":{\"total_tokens\":5}}\n\n", untold},
		{"no blank lines", "data: {\"usage\":{\"total_tokens\":5}}\ndata: {\"usage\":{\"total_tokens\":6}}\n", 6},
	}
}

// lineEnds writes the lines of a stream with another end.
func lineEnds(answers []answer, end string) []answer {
	for i := range answers {
		answers[i].body = strings.ReplaceAll(answers[i].body, "\n", end)
	}
	return answers
}

func allAnswers() []answer {
	all := documents()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, a := range lineEnds(streams(), end) {
			a.name = fmt.Sprintf("stream %s, lines end with %q", a.name, end)
			all = append(all, a)
		}
	}
	return all
}

// metered is what a meter tells of a body in those pieces.
func metered(pieces ...string) int64 {
	var m quota.Meter
	for _, p := range pieces {
		if n, err := m.Write([]byte(p)); n != len(p) || err != nil {
			panic(fmt.Sprint("Write has to take everything: ", n, err))
		}
	}
	n, ok := m.Tokens()
	if !ok {
		if n != 0 {
			panic("what is not told is zero")
		}
		return untold
	}
	return n
}

func TestMeterFindsTheUsage(t *testing.T) {
	t.Parallel()
	for _, a := range allAnswers() {
		t.Run(a.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(metered(a.body), a.want) // the answer costs something else
		})
	}
}

func TestMeterDoesNotMindHowTheBodyIsCut(t *testing.T) {
	t.Parallel()
	for _, a := range allAnswers() {
		t.Run(a.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(metered(strings.Split(a.body, "")...), a.want) // byte by byte it costs something else
			if len(a.body) > 2000 {
				return
			}
			for i := range len(a.body) {
				is.Equal(metered(a.body[:i], "", a.body[i:]), a.want) // in two pieces it costs something else
			}
		})
	}
}

func TestMeterAllocatesNothing(t *testing.T) {
	is := is.New(t)
	body := []byte(anthropicStart + anthropicEnd)
	var m quota.Meter
	is.Equal(testing.AllocsPerRun(100, func() { m.Write(body) }), 0.0) // a chunk allocates
}

func FuzzMeter(f *testing.F) {
	for _, a := range allAnswers() {
		if len(a.body) < 2000 {
			f.Add([]byte(a.body), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		want := metered(string(body))
		if want < untold || want == 0 {
			t.Fatalf("%q tells %d", body, want)
		}
		var pieces []string
		for rest := string(body); rest != ""; {
			n := min(len(rest), int(size)+1)
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := metered(pieces...); got != want {
			t.Fatalf("%q tells %d at once and %d in pieces of %d", body, want, got, size+1)
		}
	})
}
