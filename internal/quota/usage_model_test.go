package quota_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// The model reads the whole document with encoding/json and looks where the usage belongs. The documents are full of
// things that look like one.

func TestMeterAgreesWithAWholeReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := object(3).Draw(t, "document")
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := wholly(doc), metered(string(body)); got != want {
			t.Fatalf("%s tells %d, want %d", body, got, want)
		}
	})
}

// object draws an object that is likely to have a usage somewhere.
func object(depth int) *rapid.Generator[map[string]any] {
	names := rapid.SampledFrom([]string{"usage", "usageMetadata", "message", "response", "choices", "text",
		"total_tokens", "input_tokens", "completion_tokens", "thoughtsTokenCount"})
	return rapid.MapOfN(names, value(depth), 0, 6)
}

func value(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Int64Range(-1, 1000).AsAny(),
		rapid.SampledFrom([]any{nil, true, 0.5, "", "usage", `"usage":{"total_tokens":7}`, `{"usage":{"total_tokens":7}}`, `\`}),
	}
	if depth > 0 {
		leaves = append(leaves, object(depth-1).AsAny(), object(depth-1).AsAny(), rapid.SliceOfN(value(depth-1), 0, 3).AsAny())
	}
	return rapid.OneOf(leaves...)
}

// wholly finds what a meter should. It merges as the meter does, in the order of encoding/json: by name.
func wholly(doc map[string]any) int64 {
	told, closed := map[string]int64{}, false
	merge := func(in map[string]any, name string, closes bool) {
		numbers, _ := in[name].(map[string]any)
		for _, n := range []string{"total_tokens", "input_tokens", "completion_tokens", "thoughtsTokenCount"} {
			if v, ok := numbers[n].(int64); ok && v >= 0 {
				told[n] = v
				closed = closed || closes
			}
		}
	}
	for _, envelope := range []string{"message", "response"} {
		in, _ := doc[envelope].(map[string]any)
		merge(in, "usage", envelope == "response")
		merge(in, "usageMetadata", envelope == "response")
	}
	merge(doc, "usage", true)
	merge(doc, "usageMetadata", true)
	n := told["total_tokens"]
	if n == 0 {
		n = told["input_tokens"] + told["completion_tokens"] + told["thoughtsTokenCount"]
	}
	if !closed || n == 0 {
		return untold
	}
	return n
}
