package quota

// A Meter finds out how many tokens an answer cost, while its body passes by. Write it the body in pieces of any size,
// and ask for [Meter.Tokens] at the end. It tells a JSON document from a stream of server-sent events by the first
// byte, holds no part of the body but a name, allocates nothing, and never fails. A compressed body tells nothing.
//
// The usage is looked for where providers write it, so that the word in an answer's text, or deeper in its content, is
// never taken for it:
//
//   - usage, of OpenAI and Anthropic, in the document, in an event, in the last event's response (OpenAI's Responses
//     API), or in the first event's message (Anthropic);
//   - usageMetadata, of Gemini, in the document, in an event, or in each element of an array.
//
// What is told later replaces what was told before, number by number: counts in a stream are cumulative. The zero value
// is ready. It is not safe for concurrent use.
type Meter struct {
	usage usage
	body  form
	line  line
	match int  // how much of "data:" the line has begun with
	cr    bool // the last byte was the first of a line's end, which may have another
}

type form uint8

const (
	unseen form = iota
	document
	events
)

type line uint8

const (
	field line = iota // of an event, its name
	data
	other
)

// Write takes the next piece of the body. It always returns len(p) and no error.
func (m *Meter) Write(p []byte) (int, error) {
	rest := p
	if m.body == unseen {
		rest = m.begin(p)
	}
	switch m.body {
	case document:
		m.usage.read(rest)
	case events:
		m.events(rest)
	}
	return len(p), nil
}

// Tokens returns the number of tokens that the answer is charged, and whether it was told. It is total_tokens or
// totalTokenCount; else, as Anthropic sends none, input and output, and what was written to the cache. What was read
// from the cache is left out there, for it does not count against most models' limits.
//
// It is not told by a stream of OpenAI's that was not asked for it (stream_options.include_usage), or that ended early;
// nor by one of Anthropic's whose end is missing, for its first event knows only the input. Gemini tells it so far with
// each event: if the stream broke, it is the least that was used. Zero is never true, and not told.
func (m *Meter) Tokens() (int64, bool) { return m.usage.tokens() }

// begin looks for the first byte that says something, and skips a byte order mark.
func (m *Meter) begin(p []byte) []byte {
	for i, c := range p {
		switch {
		case blank(c), c == 0xef, c == 0xbb, c == 0xbf:
			continue
		case c == '{', c == '[':
			m.body = document
		default:
			m.body = events
		}
		return p[i:]
	}
	return nil
}

// events reads server-sent events (HTML living standard, section 9.2.6): lines that end with CR, LF or both, of which
// those that begin with "data:" make one JSON text up to a blank line.
func (m *Meter) events(p []byte) {
	for len(p) > 0 {
		n := m.content(p)
		if n == len(p) {
			return
		}
		switch {
		case p[n] == '\n' && m.cr && n == 0: // the second half of CRLF
		case m.line == field && m.match == 0: // blank
			m.usage.reset()
			m.line = field
		default:
			if m.line == data {
				m.usage.read(p[n : n+1]) // data of several lines is joined by their ends
			}
			m.line, m.match = field, 0
		}
		m.cr = p[n] == '\r'
		p = p[n+1:]
	}
}

// content reads what is left of a line, and returns its length.
func (m *Meter) content(p []byte) int {
	const name = "data:"
	n := 0
	for n < len(p) && p[n] != '\n' && p[n] != '\r' {
		n++
	}
	rest := p[:n]
	if n > 0 {
		m.cr = false
	}
	for m.line == field && len(rest) > 0 {
		if rest[0] != name[m.match] {
			m.line = other
			break
		}
		m.match++
		rest = rest[1:]
		if m.match == len(name) {
			m.line = data
		}
	}
	if m.line == data {
		m.usage.read(rest)
	}
	return n
}
