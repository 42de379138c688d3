package resilient

import "strconv"

// Jitter says how waits between attempts are spread. It is a [RetryOption] as it stands: Retry(resilient.FullJitter). Its
// zero value is not a jitter: a policy written by hand must choose one.
type Jitter int

const (
	// Decorrelated is exponential with decorrelated jitter: waits grow smoothly, and the chance is spread over all of them.
	// The formula is the one that Polly uses (DecorrelatedJitterBackoffV2).
	Decorrelated Jitter = iota + 1

	// FullJitter takes each wait at random from zero to the exponential one. From "Exponential Backoff And Jitter", AWS
	// Architecture Blog.
	FullJitter

	// NoJitter waits exactly the exponential times. Clients that failed together come back together.
	NoJitter
)

func (j Jitter) retry(d *draft) { d.Retry.Jitter = j }

// String returns the name of the constant.
func (j Jitter) String() string {
	switch j {
	case Decorrelated:
		return "Decorrelated"
	case FullJitter:
		return "FullJitter"
	case NoJitter:
		return "NoJitter"
	default:
		return "Jitter(" + strconv.Itoa(int(j)) + ")"
	}
}

// MarshalText returns decorrelated, full or none, as documents have it.
func (j Jitter) MarshalText() ([]byte, error) {
	switch j {
	case Decorrelated:
		return []byte("decorrelated"), nil
	case FullJitter:
		return []byte("full"), nil
	case NoJitter:
		return []byte("none"), nil
	default:
		return nil, &ConfigError{Setting: "Retry(" + j.String() + ")", Rule: "has no text form", Fix: usualJitter}
	}
}

// UnmarshalText takes decorrelated, full or none.
func (j *Jitter) UnmarshalText(text []byte) error {
	for k := Decorrelated; k <= NoJitter; k++ {
		if form, _ := k.MarshalText(); string(form) == string(text) {
			*j = k
			return nil
		}
	}
	value := quote(string(text))
	return &ConfigError{Setting: "Jitter(" + value + ")", Value: value, Rule: "must be decorrelated, full or none", Fix: usualJitter}
}

// usualJitter is the way out for a jitter that there is not.
const usualJitter = "Decorrelated is the usual one"
