package resilient

import "strings"

// A ConfigError is one violation of a rule by a client's configuration. [Builder.Build] looks for all of them and
// returns them joined; each is found with [errors.As], and the text of the whole has one line for each.
//
// The text reads
//
//	resilient: client "inventory": Timeout(PerAttempt(5ms)): must be 10ms to 24h, or 0 for none; the nearest is 10ms
type ConfigError struct {
	// Client is the name given to [New]. It is empty for a document that was decoded by itself.
	Client string

	// Setting is what is wrong, as it is typed, with the value in it: Timeout(PerAttempt(5ms)). For a document it is the
	// path to the value: JSON(retry.maxRetries: "two").
	Setting string

	// Value is the value by itself, with its unit. It is empty where no single value is wrong.
	Value string

	// Rule is what the value breaks. If two values do not fit, it names the other one.
	Rule string

	// Fix is the way out: what to give instead, or what to leave out. It is never empty.
	Fix string
}

// Error returns the client, the setting, the rule and the way out, in one line.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString("resilient: ")
	if e.Client != "" {
		b.WriteString("client " + quote(e.Client) + ": ")
	}
	b.WriteString(e.Setting + ": " + e.Rule)
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}
