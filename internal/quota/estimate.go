package quota

import "strings"

// Estimate returns how many tokens a request will be charged when it arrives: a quarter of the characters of its
// prompt, rounded up, and the longest answer it allows. Azure OpenAI charges the prompt's text, max_tokens and best_of
// on arrival; OpenAI the larger of max_tokens and a count of characters. Neither is what is billed in the end, and four
// characters a token is true of English: code and Chinese take more. [Meter] finds out what it was.
//
// The prompt is, in a JSON object that has any of them, the strings in messages, prompt, suffix, input, instructions,
// system, contents and systemInstruction. A character is a Unicode code point; an escape is the one that it stands for.
// Among these strings, the following are not counted:
//
//   - what labels a part and is no text: role, type, id, and their like (see label);
//   - images, audio and files: data: URLs in base64, base64 in a member that carries data, and addresses. They do cost
//     tokens, by rules of each model that a proxy can't know: give such requests a cost of your own;
//   - what only the provider can read: encrypted reasoning, signatures.
//
// What a model reads as JSON is counted with the names of its members: tools, functions and response_format, and the
// arguments and results of tools within a message. A number in an array that is the input or prompt is a token.
//
// The longest answer is max_tokens, max_completion_tokens or max_output_tokens, whichever is largest, or Gemini's
// generationConfig.maxOutputTokens; times n, best_of or candidateCount, whichever is largest, for best_of answers are
// generated to return n of them. Without such a member it is unknown, and counts nothing.
//
// Of JSON that has none of these prompts, every string value counts, but for data in base64. Of what is not JSON, the
// bytes are the characters. A file is not text: multipart forms, audio, images, video and application/octet-stream
// count nothing. The result is never negative, and the largest int64 if it would be more. Nothing is allocated for JSON.
func Estimate(contentType string, body []byte) int64 {
	if uploads(contentType) {
		return 0
	}
	var p prompt
	if !p.read(body) {
		return quarter(int64(len(body)))
	}
	characters := p.all
	if p.known {
		characters = p.text
	}
	return plus(plus(quarter(characters), p.tokens), times(p.longest, max(1, p.answers)))
}

func quarter(n int64) int64 { return n/4 + (n%4+3)/4 }

// uploads reports a media type that carries files.
func uploads(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	major, _, _ := strings.Cut(media, "/")
	switch major {
	case "multipart", "audio", "image", "video":
		return true
	}
	return media == "application/octet-stream"
}

// A prompt is what a request's body has been found to hold so far.
type prompt struct {
	text, all int64 // characters: of the prompt, of every string value
	tokens    int64 // that came as numbers
	longest   int64 // answer, in tokens
	answers   int64
	known     bool // it has a member that is a prompt

	lex      lexer
	depth    int    // of open objects and arrays
	verbatim int    // everything counts that is deeper than this, if it is not zero
	part     part   // the member of the document that we are in
	name     []byte // the member that we are in, at any depth
	nested   bool   // it is not a member of the document itself
	last     []byte // a string that may turn out to be a name
}

// read reports whether the body is JSON: an object or an array that is closed again.
func (p *prompt) read(body []byte) bool {
	opened := false
	for pos := 0; ; {
		t, n := p.lex.next(body[pos:])
		pos += n
		if t == ':' {
			p.named(p.last)
			p.last = nil
			continue
		}
		if p.last != nil {
			p.string(p.last)
			p.last = nil
		}
		switch t {
		case exhausted:
			return opened && p.depth == 0 && p.lex.where == between
		case text:
			p.last = body[pos-1-p.lex.size : pos-1]
		case scalar:
			p.number(p.lex.word())
		case '{', '[':
			opened = true
			p.open()
		case '}', ']':
			p.close(t)
		}
		if !opened {
			return false // a text, or a lone value
		}
	}
}

func (p *prompt) open() {
	if p.verbatim == 0 && (p.part == definitions || p.part == dialogue && p.nested && structured(p.name)) {
		p.verbatim = p.depth
	}
	p.depth++
}

func (p *prompt) close(t token) {
	p.depth--
	if t == '}' {
		p.name = nil // what follows in an array is not the value of that object's last member
	}
	if p.depth <= p.verbatim {
		p.verbatim = 0
	}
}

func (p *prompt) named(name []byte) {
	p.name, p.nested = name, p.depth > 1
	if p.depth == 1 {
		p.part = partOf(name)
		p.known = p.known || p.part == dialogue
	}
	if p.verbatim > 0 {
		p.text += characters(name)
	}
}

func (p *prompt) string(s []byte) {
	if payload(p.name, s) {
		return
	}
	n := characters(s)
	p.all += n
	if p.verbatim > 0 || p.part == dialogue && !label(p.name) {
		p.text += n
	}
}

func (p *prompt) number(word []byte) {
	n, ok := count(word)
	if !ok {
		return
	}
	if p.depth > 1 && !p.nested && tokens(p.part, p.name) {
		p.tokens++
		return
	}
	if p.depth != 1 && (p.depth != 2 || p.part != settings) {
		return
	}
	switch string(p.name) {
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens":
		p.longest = max(p.longest, n)
	case "n", "best_of", "candidateCount", "candidate_count":
		p.answers = max(p.answers, n)
	}
}

// characters counts code points in a string as it is written in JSON. The second half of a surrogate pair is none.
func characters(s []byte) int64 {
	var n int64
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if i < len(s) && s[i] == 'u' {
				if low(s[i+1:]) {
					n--
				}
				i += min(4, len(s)-1-i)
			}
			n++
		case c&0xc0 != 0x80: // not the continuation of a code point in UTF-8
			n++
		}
	}
	return n
}

// low reports the hexadecimal digits of a low surrogate, DC00 to DFFF.
func low(digits []byte) bool {
	return len(digits) >= 4 && digits[0]|0x20 == 'd' && (digits[1]|0x20 >= 'c' && digits[1]|0x20 <= 'f')
}
