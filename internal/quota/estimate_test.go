package quota_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/quota"
	"github.com/matryer/is"
)

const jsonType = "application/json"

func TestEstimateIsAQuarterOfThePromptAndTheLongestAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		want       int64
	}{
		{"chat", `{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief."},
			{"role":"user","content":"What is a token?"}],"max_tokens":100}`, 7 + 100}, // 9 and 16 characters
		{"chat, parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"12345678"},
			{"type":"image_url","image_url":{"url":"https://example.com/a-very-long-name.png","detail":"high"}}]}],
			"max_completion_tokens":50}`, 2 + 50},
		{"chat, image inline", `{"messages":[{"role":"user","content":[{"type":"image_url",
			"image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBOR", 999) + `"}}]}]}`, 0},
		{"chat, audio", `{"messages":[{"role":"user","content":[{"type":"input_audio",
			"input_audio":{"data":"UklGRv` + strings.Repeat(`\/8A`, 999) + `==","format":"wav"}}]}]}`, 0},
		{"chat, tool call", `{"messages":[{"role":"assistant","tool_calls":[{"id":"call_abc","type":"function",
			"function":{"name":"weather","arguments":"{\"in\":\"Bern\"}"}}]}]}`, 5}, // 7 and 13
		{"chat, tools", `{"messages":[],"tools":[{"type":"function","function":{"name":"f",
			"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`, 18}, // 69 with the names
		{"chat, several answers", `{"n":3,"messages":[{"content":"1234"}],"max_tokens":10}`, 1 + 30},
		{"completion", `{"prompt":"12345","suffix":"678","max_tokens":16,"best_of":5,"n":2}`, 2 + 80},
		{"completion, prompts", `{"prompt":["1234","5678"]}`, 2},
		{"completion, tokens", `{"prompt":[1212,318,257,1332]}`, 4},
		{"embeddings", `{"input":"12345678","model":"text-embedding-3-small"}`, 2},
		{"embeddings, texts", `{"model":"m","input":["12345678","1234567"]}`, 4},
		{"embeddings, tokens", `{"input":[[1,2,3],[4,5]]}`, 5},
		{"responses", `{"model":"m","instructions":"1234","input":"5678","max_output_tokens":300}`, 2 + 300},
		{"responses, items", `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"12345678"},
			{"type":"input_image","image_url":"data:image\/jpeg;base64,\/9j\/4AAQ"},
			{"type":"input_file","filename":"a.pdf","file_data":"JVBERi0xLjQK"}]},
			{"type":"reasoning","encrypted_content":"gAAAAABo","summary":[]},
			{"type":"function_call_output","call_id":"c","output":"1234"}]}`, 3},
		{"anthropic", `{"model":"claude","system":[{"type":"text","text":"1234"}],"max_tokens":1024,
			"messages":[{"role":"user","content":"5678"}]}`, 2 + 1024},
		{"anthropic, image and document", `{"messages":[{"role":"user","content":[
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},
			{"type":"document","source":{"type":"text","media_type":"text/plain","data":"1234 678"}}]}]}`, 2},
		{"anthropic, tool", `{"messages":[{"role":"assistant","content":[
			{"type":"tool_use","name":"get","input":{"url":"x.y","n":1},"id":"toolu_1"},"and so on"]}]}`, 5}, // 3, 3, 3, 1 and 9
		{"tools before the prompt", `{"tools":[{"name":"four"}],"messages":[{"role":"user","content":"12345678"}]}`, 4},
		{"tokens deeper down", `{"input":[{"input":[1,2,3]}]}`, 0}, // these are arguments
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"12345678"},
			{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo"}},{"fileData":{"fileUri":"gs://b/o"}}]}],
			"systemInstruction":{"parts":[{"text":"1234"}]},
			"generationConfig":{"maxOutputTokens":200,"candidateCount":2}}`, 3 + 400},
		{"gemini, in the other spelling", `{"generation_config":{"max_output_tokens":200},"contents":[]}`, 200},
		{"unknown", `{"query":"1234","documents":["5678",{"text":"9"}],"top_k":3}`, 3},
		{"unknown, with data", `{"image":"data:image/png;base64,iVBORw0KGgo=","data":"iVBORw0KGgo=","q":"1234"}`, 1},
		{"an array", `["1234",["5678"]]`, 2},
		{"two documents", `{"prompt":"1234"}` + "\n" + `{"prompt":"5678"}`, 2},
		{"settings deeper down", `{"messages":[{"content":"1234","max_tokens":99}],"metadata":{"max_tokens":99}}`, 1},
		{"settings that are none", `{"prompt":"","max_tokens":-5,"n":1.5}`, 0},
		{"settings of a hundred digits", `{"prompt":"1","max_tokens":` + strings.Repeat("9", 100) + `}`, 1},
		{"a prompt that is a number", `{"prompt":5}`, 0},
		{"null", `{"prompt":null,"max_tokens":null}`, 0},
		{"a prompt that is a long word", `{"prompt":"` + strings.Repeat("a", 4000) + `"}`, 1000},
		{"a prompt about data", `{"prompt":"data: 12"}`, 2},
		{"escapes", `{"prompt":"\n\"\\\u00e9é\ud83d\ude00😀e"}`, 2}, // eight characters
		{"more than an int64", `{"prompt":"1","max_tokens":99999999999999999999,"n":9}`, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(quota.Estimate(jsonType, []byte(c.body)), c.want) // the request costs something else
		})
	}
}

func TestEstimateOfWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, body string
		want              int64
	}{
		{"text/plain", "123456789", 3},
		{"text/plain", `{"prompt":"1234"}`, 1}, // it is JSON all the same
		{"", `{"prompt":"1234"}`, 1},
		{jsonType, "", 0},
		{jsonType, `{"prompt":"12`, 4},   // cut off
		{jsonType, `{"prompt":"12"`, 4},  // cut off
		{jsonType, `]{"prompt":"1"}`, 4}, // closed before it is opened
		{jsonType, `{"prompt":"1"}]`, 4}, // closed twice
		{jsonType, `"12345678"`, 3},      // a lone string
		{jsonType, `12345678`, 2},
		{"application/x-www-form-urlencoded", "prompt=a", 2},
		{"multipart/form-data; boundary=x", `{"prompt":"1234"}`, 0},
		{"Audio/MPEG", "ID3 12345", 0},
		{"application/octet-stream", "12345678", 0},
	} {
		t.Run(c.contentType+" "+c.body, func(t *testing.T) {
			is := is.New(t)
			is.Equal(quota.Estimate(c.contentType, []byte(c.body)), c.want) // the request costs something else
		})
	}
}

func TestEstimateSurvivesDeepNesting(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	deep := `{"input":` + strings.Repeat("[", 1e6) + `"1234"` + strings.Repeat("]", 1e6) + `}`
	is.Equal(quota.Estimate(jsonType, []byte(deep)), int64(1)) // depth costs nothing
}

func TestEstimateDoesNotAllocate(t *testing.T) {
	is := is.New(t)
	body := chatRequest(1 << 10)
	is.Equal(testing.AllocsPerRun(100, func() { quota.Estimate("application/json; charset=utf-8", body) }), 0.0) // it allocates
}

// chatRequest is a conversation of at least that many bytes.
func chatRequest(size int) []byte {
	turn := `{"role":"user","content":"Tell me \"more\" about it.\nAnd then some."},`
	return []byte(`{"model":"gpt-4o","messages":[` + strings.Repeat(turn, size/len(turn)+1) + `{"role":"user"}],"max_tokens":100}`)
}

func FuzzEstimateCountsCharacters(f *testing.F) {
	for _, s := range []string{"", "four", "é😀\u2028", "\x00\xff\"\\/\n", `\u00e9`, "data:x;base64,", "</script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.HasPrefix(s, "data:") {
			return
		}
		body, err := json.Marshal(map[string]any{"messages": []any{map[string]string{"role": "user", "content": s}}})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(len([]rune(s))+3) / 4 // a byte that is no UTF-8 is one character, here and for json.Marshal
		if got := quota.Estimate(jsonType, body); got != want {
			t.Fatalf("%s: %d, want %d", body, got, want)
		}
	})
}

func FuzzEstimate(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"max_tokens":5,"n":2}`, `{"input":[1,[2,3]],"tools":[{"a":{"b":"c"}}]}`,
		`{"contents":[{"parts":[{"functionCall":{"args":{"a":["b"]}}}]}],"generationConfig":{"maxOutputTokens":1}}`,
		`{"a":"\u`, `{"a":"\`, `}]`, `[[[`, "", "\xef\xbb\xbf{}", `{"prompt":"\ud83d\ude00"}`,
	} {
		f.Add(jsonType, []byte(s))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		if got := quota.Estimate(contentType, body); got < 0 {
			t.Fatalf("%q: %d", body, got)
		}
	})
}
