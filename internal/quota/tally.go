package quota

// A usage reads JSON texts, one after the other, and remembers the numbers of the usage objects in them.
type usage struct {
	lex    lexer
	depth  int // of open objects and arrays
	at     int // how many of them are on the way to a usage object
	path   [5]step
	member member // the name that was read last, if its value is next

	told     [extra + 1]int64
	speaking bool // the object that is open has told something
	complete bool // so has one that was closed, and is no opening
}

// A step is an object or array on the way to a usage object.
type step uint8

const (
	outside step = iota
	list         // Gemini's stream without server-sent events is an array of documents
	root
	opening  // message in Anthropic's message_start: the input, and an output that has only begun
	envelope // response in OpenAI's response.completed
	numbers  // the usage object itself
)

// A member is a name that matters.
type member uint8

const (
	total member = iota // of a usage object: the numbers
	input
	output
	extra // what is neither in input nor in output
	unnamed
	messageMember
	responseMember
	usageMember
)

// memberOf leaves out what is part of another number: cached_tokens and reasoning_tokens stand deeper, and
// cache_read_input_tokens does not count. thoughtsTokenCount is not in candidatesTokenCount.
func memberOf(name []byte) member {
	switch string(name) {
	case "total_tokens", "totalTokenCount":
		return total
	case "prompt_tokens", "input_tokens", "promptTokenCount":
		return input
	case "completion_tokens", "output_tokens", "candidatesTokenCount":
		return output
	case "cache_creation_input_tokens", "thoughtsTokenCount":
		return extra
	case "message":
		return messageMember
	case "response":
		return responseMember
	case "usage", "usageMetadata":
		return usageMember
	}
	return unnamed
}

// inside is where a value leads that opens with t, or outside if it leads nowhere.
func inside(s step, m member, t token) step {
	switch {
	case s == outside && t == '[':
		return list
	case t == '[':
		return outside
	case s == outside, s == list:
		return root
	case s != numbers && m == usageMember:
		return numbers
	case s == root && m == messageMember:
		return opening
	case s == root && m == responseMember:
		return envelope
	}
	return outside
}

// read takes the next piece of a text.
func (u *usage) read(p []byte) {
	for {
		t, n := u.lex.next(p)
		p = p[n:]
		if t == exhausted {
			return
		}
		switch t {
		case ':':
			u.member = unnamed
			if u.depth == u.at {
				u.member = memberOf(u.lex.word())
			}
			continue
		case '{', '[':
			u.open(t)
		case '}', ']':
			u.close()
		case scalar:
			u.number()
		}
		u.member = unnamed
	}
}

// reset forgets where it is, for a new text begins, but not what was told.
func (u *usage) reset() {
	u.lex.where, u.lex.escaped = between, false
	u.depth, u.at, u.member, u.speaking = 0, 0, unnamed, false
}

func (u *usage) open(t token) {
	if u.depth == u.at {
		if next := inside(u.path[u.at], u.member, t); next != outside {
			u.at++
			u.path[u.at] = next
		}
	}
	u.depth++
}

func (u *usage) close() {
	if u.depth == u.at {
		if u.path[u.at] == numbers {
			u.complete = u.complete || u.speaking && u.path[u.at-1] != opening
			u.speaking = false
		}
		u.at = max(0, u.at-1)
	}
	u.depth = max(0, u.depth-1)
}

func (u *usage) number() {
	if u.depth != u.at || u.path[u.at] != numbers || u.member > extra {
		return
	}
	if n, ok := count(u.lex.word()); ok {
		u.told[u.member] = n
		u.speaking = true
	}
}

func (u *usage) tokens() (int64, bool) {
	n := u.told[total]
	if n == 0 {
		n = plus(plus(u.told[input], u.told[output]), u.told[extra])
	}
	if n == 0 || !u.complete {
		return 0, false
	}
	return n, true
}
