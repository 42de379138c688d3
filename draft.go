package resilient

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jonboulle/clockwork"
)

// A draft is a configuration in the making: what the edits of a [Builder] work on. It is used once, by one goroutine.
type draft struct {
	Config
	name   string
	preset Preset // that it begins with, or 0
	given  marks
	faults []ConfigError

	client    *http.Client // a copy of the one to build around, or nil
	base      http.RoundTripper
	registry  *Registry
	clock     clockwork.Clock
	observers []Observer
	telemetry telemetry // nil: none

	// noRetries is set while a Retry verb is applied that says MaxRetries(0).
	noRetries bool
	// inherited says that the total timeout is the Timeout of the client to build around.
	inherited bool
}

// marks tell what the user said that the values don't: which of the settings that depend on each other are the user's (one
// without its mark comes from a preset, and yields to one with it), and which strategies are on by a verb (one that is all
// zeros is not off then, but wrong).
type marks uint16

const (
	gaveTotal marks = 1 << iota
	gaveTotalBody
	gaveAttempt
	gaveSampling // of the breaker
	gaveBase
	gaveCap
	usesConcurrency
	usesRetry
	usesBudget
	usesBreaker
	usesRateLimit
	usesEndpoints
	gaveBurst
)

func (m marks) has(one marks) bool { return m&one != 0 }

// givenIn returns the marks for a configuration written by hand: all that it fills in is the user's.
func givenIn(c Config) (given marks) {
	for mark, filled := range map[marks]bool{
		gaveTotal:     c.Timeout.Total != 0,
		gaveTotalBody: c.Timeout.TotalIncludesBody,
		gaveAttempt:   c.Timeout.PerAttempt != 0,
		gaveSampling:  c.Breaker.SamplingDuration != 0,
		gaveBase:      c.Retry.BackoffBase != 0,
		gaveCap:       c.Retry.BackoffCap != 0,
		gaveBurst:     c.RateLimit.Burst != 0,
	} {
		if filled {
			given |= mark
		}
	}
	return given
}

// settle makes what comes from a preset yield to what the user gave, so that the two fit. It touches nothing else: two
// values of the user that do not fit, and values out of range, are left to check.
func (d *draft) settle() {
	d.adoptClientTimeout()
	d.fitTimeouts()
	d.fitSampling()
	d.fitBackoff()
}

// adoptClientTimeout gives the Timeout of the client to build around its meaning back: the built client has none of its
// own, for net/http would pay two goroutines a request for it over a transport that it doesn't know.
func (d *draft) adoptClientTimeout() {
	if d.client == nil || d.client.Timeout <= 0 || d.given.has(gaveTotal) {
		return
	}
	d.Timeout.Total = d.client.Timeout
	d.Timeout.TotalIncludesBody = d.Timeout.TotalIncludesBody || !d.given.has(gaveTotalBody)
	d.given |= gaveTotal
	d.inherited = true
}

// check collects what breaks a rule, in the order in which a client is typed.
func (d *draft) check() error {
	d.checkName("New(%s)", d.name)
	d.checkTimeout()
	d.checkConcurrency()
	d.checkRetry()
	d.checkBudget()
	d.checkRateLimit()
	d.checkEndpoints()
	d.checkBreaker()
	d.checkIdempotency()
	return d.err()
}

// complete fills in what a valid draft needs besides its settings.
func (d *draft) complete() {
	if d.base == nil && d.client != nil {
		d.base = d.client.Transport
	}
	if d.base == nil {
		d.base = http.DefaultTransport
	}
	if d.registry == nil {
		d.registry = DefaultRegistry()
	}
}

// fault notes a violation.
func (d *draft) fault(e ConfigError) { d.faults = append(d.faults, e) }

// err returns the faults joined, or nil.
func (d *draft) err() error {
	errs := make([]error, len(d.faults))
	for i, e := range d.faults {
		e.Client = d.name
		errs[i] = &e
	}
	return errors.Join(errs...)
}

// refuse notes a fault of one value. The setting is given as it is typed, with %s where the value stands.
func (d *draft) refuse(setting, value, rule, fix string) {
	d.fault(ConfigError{
		Setting: typed(setting, value),
		Value:   value,
		Rule:    rule,
		Fix:     fix,
	})
}

// typed is a setting with its value in it.
func typed(setting, value string) string { return strings.Replace(setting, "%s", value, 1) }

// refuseNil notes that a setting was given nil.
func (d *draft) refuseNil(setting string) {
	d.refuse(setting, "nil", "must not be nil", "leave it out, or give one")
}

// checkDuration notes a fault unless v is from least to most, or zero if zero has a meaning: then that is said.
func (d *draft) checkDuration(setting string, v, least, most time.Duration, zero string) {
	if v >= least && v <= most || v == 0 && zero != "" {
		return
	}
	rule := between(short(least), short(most), most == math.MaxInt64)
	if zero != "" {
		rule += ", or 0 for " + zero
	}
	fix := "the nearest is " + short(min(max(v, least), most))
	switch {
	case v == 0:
		fix = needed(setting)
	case v > 0 && v < time.Microsecond:
		fix = "a bare number is nanoseconds: write 30*time.Second for thirty seconds"
	}
	d.refuse(setting, short(v), rule, fix)
}

// checkCount notes a fault unless v is from least to most.
func (d *draft) checkCount(setting string, v, least, most int) {
	if v < least || v > most {
		fix := "the nearest is " + strconv.Itoa(min(max(v, least), most))
		if v == 0 {
			fix = needed(setting)
		}
		d.refuse(setting, strconv.Itoa(v), between(strconv.Itoa(least), strconv.Itoa(most), most == math.MaxInt), fix)
	}
}

func between(least, most string, unbounded bool) string {
	if unbounded {
		return "must be " + least + " or more"
	}
	return "must be " + least + " to " + most
}

// needed is the way out for a setting that may simply have been left out, in a policy written by hand.
func needed(setting string) string {
	verb, _, _ := strings.Cut(setting, "(")
	return "a policy that is on needs it, and " + verb + "(Off) turns it off"
}

// checkRatio notes a fault unless v is a share of a whole. NaN is none.
func (d *draft) checkRatio(setting string, v float64) {
	if !(v >= 0 && v <= 1) { // the other way round would let NaN pass
		d.refuse(setting, decimal(v), "must be 0 to 1", "a tenth is 0.1")
	}
}

// maxName bounds a name, for it is part of every event, metric and error.
const maxName = 200

func (d *draft) checkName(setting, name string) {
	switch {
	case name == "":
		d.refuse(setting, quote(name), "must not be empty", "name the dependency that is called")
	case len(name) > maxName:
		d.refuse(setting, quote(name), "must be at most "+strconv.Itoa(maxName)+" bytes long", "shorten it")
	case !printable(name):
		d.refuse(setting, quote(name), "must be printable UTF-8", "it is part of events, metrics and errors")
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func quote(s string) string { return strconv.Quote(s) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// short is d without the units that are zero: 24h, not 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
