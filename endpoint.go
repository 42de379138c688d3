package resilient

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// EndpointPolicy spreads attempts over several places that can serve all calls, such as the deployments of a model in
// several regions. Each has a circuit breaker and a rate limit of its own, with the settings that the client has. One that
// refuses, or that has asked with Retry-After to be left alone, is passed over; a retry prefers one that the call was not
// sent to. If none is left the call fails at once with [ErrNoEndpoint]. The zero policy is off: calls go where they say.
type EndpointPolicy struct {
	// Routing says with which endpoint a call begins. It must be set.
	Routing Routing

	// List has the endpoints: 1 to 64.
	List []Endpoint

	// StickyBy, if it is not nil, gives a key to requests that have to stay with one endpoint, such as those that go on with
	// an earlier answer, and to the request that answer is for. One with a key that an endpoint has served goes there and
	// nowhere else. An empty key is none. The last 8192 keys are remembered at least. It is called once a call, must be safe for
	// concurrent use, and may read the body of the request, of which it is given a copy, as far as one can be had.
	StickyBy func(*http.Request) string `json:"-"`
}

// An Endpoint is one place that can serve all calls. A call's request keeps its path and query, which come after those of
// the endpoint; scheme, host and Host header are the endpoint's. The Location of a redirect within the endpoint is
// translated back; addresses in other headers and in bodies are not.
type Endpoint struct {
	// URL is the base: http or https, a host, and what path and query begin with, if anything.
	URL string `json:"url"`

	// Name is for events and errors, and for the state that clients of one name share. Empty, it is host and path of URL.
	Name string `json:"name,omitempty"`

	// Weight is the share of calls that begin here, with [Weighted]: 1 to 1000. With another Routing it is 0.
	Weight int `json:"weight,omitempty"`

	// Header replaces those of the request, such as the key to this place. It is in no event and no error.
	Header http.Header `json:"-"`

	// Rewrite, if it is not nil, changes the request of each attempt, which is its own, when all else is done. It must be
	// safe for concurrent use, and not touch the body.
	Rewrite func(*http.Request) `json:"-"`
}

// name is what the endpoint is called in events, errors and shared state.
func (e Endpoint) name() string {
	if e.Name != "" {
		return e.Name
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
}

// Routing says with which endpoint a call begins.
type Routing int

const (
	// RoundRobin begins with one after the other.
	RoundRobin Routing = iota + 1

	// Ordered begins with the first; the others are there for when it refuses or fails.
	Ordered

	// Weighted begins with each as often as its weight says, well mixed.
	Weighted
)

//nolint:gochecknoglobals // only read
var routings = map[Routing]string{RoundRobin: "roundRobin", Ordered: "ordered", Weighted: "weighted"}

// String returns the name of the constant, as it is in a document.
func (r Routing) String() string {
	if s, ok := routings[r]; ok {
		return s
	}
	return "Routing(" + strconv.Itoa(int(r)) + ")"
}

// MarshalJSON writes the name.
func (r Routing) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// UnmarshalJSON reads a name.
func (r *Routing) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	for known, name := range routings {
		if name == s {
			*r = known
			return nil
		}
	}
	return &ConfigError{Setting: "Endpoints(Routing)", Rule: "must be roundRobin, ordered or weighted", Fix: everyTurn}
}

// A RoutingOption says how the endpoints are used: a [Routing], or one with a key from [Routing.StickyBy].
type RoutingOption interface{ routing(*draft) }

func (r Routing) routing(d *draft) { d.Endpoints.Routing, d.Endpoints.StickyBy = r, nil }

// StickyBy is the routing with [EndpointPolicy].StickyBy. The function must not be nil.
func (r Routing) StickyBy(key func(*http.Request) string) RoutingOption { return sticky{r, key} }

type sticky struct {
	Routing
	key func(*http.Request) string
}

func (s sticky) routing(d *draft) {
	if s.key == nil {
		d.refuseNil("Endpoints(StickyBy(%s))")
	}
	d.Endpoints.Routing, d.Endpoints.StickyBy = s.Routing, s.key
}

func (off) routing(d *draft) {
	d.Endpoints = EndpointPolicy{}
	d.given &^= usesEndpoints
}

func (p EndpointPolicy) off() bool { return p.Routing == 0 && p.List == nil && p.StickyBy == nil }

func (p EndpointPolicy) clone() EndpointPolicy {
	p.List = slices.Clone(p.List)
	for i, e := range p.List {
		p.List[i].Header = e.Header.Clone()
	}
	return p
}

func (d *draft) startEndpoints() { d.given |= usesEndpoints }

func (d *draft) applyEndpoints(by RoutingOption, list []Endpoint) {
	if by == nil {
		d.refuseNil("Endpoints(%s)")
		return
	}
	d.startEndpoints()
	d.Endpoints.List = list
	by.routing(d)
}

const maxWeight = 1000

// everyTurn is the way out for a routing that there is not.
const everyTurn = "RoundRobin gives each its turn"

func (d *draft) checkEndpoints() {
	p := d.Endpoints
	if p.off() && !d.given.has(usesEndpoints) {
		return
	}
	if _, known := routings[p.Routing]; !known {
		d.refuse("Endpoints(%s)", p.Routing.String(), "must be RoundRobin, Ordered or Weighted", everyTurn)
	}
	if n := len(p.List); n == 0 || n > pipeline.MaxEndpoints {
		d.fault(ConfigError{
			Setting: "Endpoints", Value: strconv.Itoa(n), Rule: "must be 1 to " + strconv.Itoa(pipeline.MaxEndpoints) + " endpoints",
			Fix: "Endpoints(Off) has calls go where they say",
		})
	}
	if d.PerAuthority {
		d.fault(ConfigError{Setting: "PerAuthority()", Rule: "excludes Endpoints, each of which has its own state", Fix: "give one of them"})
	}
	if _, ok := d.base.(functions); ok {
		d.fault(ConfigError{Setting: "Endpoints", Rule: "has no meaning for a pipeline, which sends nothing", Fix: "leave it out"})
	}
	seen := map[string]bool{}
	for _, e := range p.List {
		d.checkEndpoint(e)
		if name := e.name(); name != "" && seen[name] {
			d.refuse("Endpoints(Endpoint{Name: %s})", quote(name), "is given twice", "give each a Name of its own")
		}
		seen[e.name()] = true
	}
}

func (d *draft) checkEndpoint(e Endpoint) {
	const such = "write it as https://host/path"
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		d.refuse("Endpoints(Endpoint{URL: %s})", "...", "is no URL", such) // it may have a password in it
	case u.Scheme != "http" && u.Scheme != "https":
		d.refuse("Endpoints(Endpoint{URL: %s})", quote(shown(u)), "must begin with http:// or https://", such)
	case u.Hostname() == "":
		d.refuse("Endpoints(Endpoint{URL: %s})", quote(shown(u)), "must have a host", such)
	case u.Fragment != "":
		d.refuse("Endpoints(Endpoint{URL: %s})", quote(shown(u)), "must have no fragment", "leave out what begins with #")
	}
	if e.Name != "" {
		d.checkName("Endpoints(Endpoint{Name: %s})", e.Name)
	}
	d.checkHeader(e.Header)
	switch weight := strconv.Itoa(e.Weight); {
	case d.Endpoints.Routing == Weighted && (e.Weight < 1 || e.Weight > maxWeight):
		d.refuse("Endpoints(Endpoint{Weight: %s})", weight, "must be 1 to "+strconv.Itoa(maxWeight), "1 for each spreads evenly")
	case d.Endpoints.Routing != Weighted && e.Weight != 0:
		d.refuse("Endpoints(Endpoint{Weight: %s})", weight, "has a meaning with Weighted only", "leave it out, or spread by Weighted")
	}
}

// shown is as much of a base as can't be secret. Without a host it is not what it was meant to be, and a user may be
// anywhere.
func shown(u *url.URL) string {
	s := u.String()
	switch {
	case u.Hostname() != "" && u.Fragment != "":
		return redacted(u) + "#" + hidden
	case u.Hostname() != "":
		return redacted(u)
	case strings.ContainsAny(s, "@?#"):
		return "..."
	}
	return s
}

// checkHeader notes what net/http would refuse with every request. Values may be secret, and are not told.
func (d *draft) checkHeader(h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		rule, fix := "", ""
		switch {
		case notToken(name):
			rule, fix = "must be the name of a header", "write it as X-Api-Key"
		case http.CanonicalHeaderKey(name) == "Host":
			rule, fix = "has no effect: the Host header is the URL's", "leave it out"
		case slices.ContainsFunc(h[name], notText):
			rule, fix = "must have values without control characters", "leave them out, line ends too"
		default:
			continue
		}
		d.refuse("Endpoints(Endpoint{Header: %s})", quote(name), rule, fix)
	}
}

// notText reports whether s can't be the value of a header (RFC 9110, section 5.5).
func notText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// turns are the endpoints, by index, in the order in which calls begin with them. With weights each comes as often as its
// weight says, and they are mixed so that none comes in a bunch: at each turn all gain their weight, and the one that has
// most gives up the weight of all.
func (p EndpointPolicy) turns() []int {
	if p.Routing != Weighted {
		turns := make([]int, len(p.List))
		for i := range turns {
			turns[i] = i
		}
		return turns
	}
	total, divisor := 0, 0
	for _, e := range p.List {
		total += e.Weight
		divisor = gcd(divisor, e.Weight)
	}
	turns := make([]int, 0, total/divisor)
	gained := make([]int, len(p.List))
	for range total / divisor {
		most := 0
		for i, e := range p.List {
			if gained[i] += e.Weight; gained[i] > gained[most] {
				most = i
			}
		}
		gained[most] -= total
		turns = append(turns, most)
	}
	return turns
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
