package quota

import "bytes"

// A part is what a member of the request's document holds.
type part uint8

const (
	elsewhere   part = iota
	dialogue         // the prompt
	definitions      // JSON that a model reads as text
	settings         // Gemini's generationConfig
)

// partOf knows the documents of OpenAI's chat/completions, completions, responses and embeddings, of Anthropic's
// messages, and of Gemini's generateContent, which takes names in either spelling, as all of Google's JSON does.
func partOf(name []byte) part {
	switch string(name) {
	case "messages", "prompt", "suffix", "input", "instructions", "system",
		"contents", "systemInstruction", "system_instruction":
		return dialogue
	case "tools", "functions", "response_format":
		return definitions
	case "generationConfig", "generation_config":
		return settings
	}
	return elsewhere
}

// tokens reports members whose arrays may hold tokens in place of text: completions and embeddings take them.
func tokens(in part, name []byte) bool {
	return in == dialogue && (string(name) == "input" || string(name) == "prompt")
}

// structured reports members of a message that hold JSON of the caller's own: the arguments of a tool and its results,
// as Anthropic and Gemini send them. In OpenAI's messages they are strings.
func structured(name []byte) bool {
	switch string(name) {
	case "input", "args", "response":
		return true
	}
	return false
}

// label reports members of a message whose strings are no text for the model.
func label(name []byte) bool {
	switch string(name) {
	case "role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status", "detail", "format",
		"media_type", "mimeType", "mime_type",
		"url", "image_url", "file_url", "file_id", "fileUri", "file_uri", "filename",
		"encrypted_content", "signature", "thoughtSignature", "thought_signature":
		return true
	}
	return false
}

// payload reports a string that is a file: a data: URL in base64, or bare base64 in a member that carries data. Only
// there, for a long word of the prompt looks the same; and only base64, for Anthropic's data may be plain text.
func payload(name, s []byte) bool {
	if bytes.HasPrefix(s, []byte("data:")) && bytes.Contains(s[:min(len(s), 256)], []byte(";base64,")) {
		return true
	}
	switch string(name) {
	case "data", "file_data", "b64_json", "bytesBase64Encoded":
		return base64(s)
	}
	return false
}

// base64 reports a string of nothing but the letters of base64, in either alphabet (RFC 4648 sections 4 and 5), and
// escapes: some write each solidus as \/, or lines with \n.
func base64(s []byte) bool {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '+', c == '/', c == '-', c == '_', c == '=', c == '\\':
		default:
			return false
		}
	}
	return true
}
