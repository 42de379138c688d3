package quota

// A Cause is what the answer to a request means, be it from OpenAI, Azure OpenAI, Anthropic, Gemini, or a gateway in
// front of them. What follows from it for a retry and a circuit breaker, and where the rule comes from:
//
//	cause          answers                                              retry  breaker  source
//	None           below 400                                            no     success
//	Money          402; any with a word of the insufficient_quota       no     ignored  OpenAI's and Anthropic's error
//	               family, enforced_spend_limit_reached and billing;                    codes; langchainjs#1929,
//	               400 "credit balance is too low"                                      claude-code#4684
//	Impossible     413; 429 "Request too large"; a wait of a day or     no     ignored  azure-sdk-for-java#42696,
//	               more; a quota per day that is used up                                climb#1, gemini-cli#10925
//	ContentFilter  400 and others with content_filter and its like      no     ignored  Azure's content filtering;
//	                                                                                    agentmemory#1277
//	Denied         401, 403, 407; 400 with API_KEY_INVALID              no     ignored  the providers' error codes
//	Rate           429; 403 with a wait; slow_down                      yes    failure  the same; GitHub's rate limits
//	Overloaded     503, 529, overloaded_error, server_is_overloaded     yes    failure  the same; RFC 9110 15.6.4
//	Conflict       409                                                  yes    ignored  openai-go, anthropic-sdk-go
//	Timeout        408                                                  yes    failure  RFC 9110 section 15.5.9
//	Invalid        the other 4xx, 501 and 505                           no     ignored  RFC 9110 section 15; sglang#25811
//	Server         the other 5xx                                        yes    failure  RFC 9110 section 15.6
//
// The zero value is None. A 2xx is None whatever it says inside: its body is the caller's, and it can't be repeated.
type Cause uint8

// The causes. One that comes earlier is the truer one where an answer has the words of several.
const (
	None Cause = iota
	// Money: nobody pays for more, whatever the wait: credit is used up or a spend limit reached. It comes as 429 too.
	Money
	// Impossible: no wait that a caller would sit through mends it. The request is larger than the quota or than any that
	// is taken, or the day's quota is used up.
	Impossible
	// ContentFilter: the prompt was refused for what it says.
	ContentFilter
	// Denied: the key, its rights, the network or the region won't do.
	Denied
	// Rate: too much in too short a time. The deployment works; it wants to be left alone for a while.
	Rate
	// Overloaded: too much from everybody.
	Overloaded
	// Conflict: something else is using what the request wants to use.
	Conflict
	// Timeout: the request did not arrive in time.
	Timeout
	// Invalid: the request won't do, now or later.
	Invalid
	// Server: a failure of the server's own.
	Server
)

// String returns none, money, impossible, content_filter, denied, rate, overloaded, conflict, timeout, invalid or server.
func (c Cause) String() string {
	return [...]string{None: "none", Money: "money", Impossible: "impossible", ContentFilter: "content_filter",
		Denied: "denied", Rate: "rate", Overloaded: "overloaded", Conflict: "conflict", Timeout: "timeout",
		Invalid: "invalid", Server: "server"}[c]
}

// Transient reports that a retry may succeed. Whether it may be sent is another question: see the method, and what the
// status says about side effects.
func (c Cause) Transient() bool {
	switch c {
	case Rate, Overloaded, Conflict, Timeout, Server:
		return true
	}
	return false
}

// Health is how a circuit breaker counts an answer.
type Health uint8

const (
	// Ignored says nothing about the deployment, and gives the place of a half-open breaker's probe back.
	Ignored Health = iota
	// Success says that it works.
	Success
	// Failure says that it does not.
	Failure
)

// Health is how a circuit breaker should count an answer. Answers that are the request's or the account's fault are
// ignored, for breakers that counted them as failures cut everybody off (sglang#25811, agentmemory#1277), and breakers
// that counted them as successes forgot real failures (voidllm#185). Rate is a failure, so that a breaker whose break is
// as long as the server asks leaves the deployment alone. Who throttles a deployment after a 429 by other means counts
// Rate as ignored, and never as a success.
func (c Cause) Health() Health {
	switch c {
	case None:
		return Success
	case Rate, Overloaded, Timeout, Server:
		return Failure
	}
	return Ignored
}
