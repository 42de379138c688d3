package pipeline

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// between is a pipeline that spreads calls over so many endpoints, and notes where they go.
func between(t *testing.T, n int, visited *[]string) *Pipeline {
	t.Helper()
	clock := clockwork.NewFakeClock()
	c := Config{
		Base: base(func(r *http.Request) (*http.Response, error) {
			*visited = append(*visited, r.URL.Host)
			return &http.Response{StatusCode: 200}, nil
		}),
		Clock: clock, Pool: newPool(clock), Errors: texts{},
	}
	for i := range n {
		host := "h" + strconv.Itoa(i)
		c.Route.Endpoints = append(c.Route.Endpoints, Endpoint{Name: host, URL: &url.URL{Scheme: "http", Host: host}, Lane: &Lane{}})
		c.Route.Turns = append(c.Route.Turns, i)
	}
	return New(c)
}

func (p *Pipeline) callTimes(t *testing.T, n int) {
	t.Helper()
	for range n {
		r, _ := http.NewRequest("GET", "http://x.test", nil)
		if _, err := p.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}
}

// After 2^63 calls an index of another type would be negative, and after 2^64 the count begins anew.
func TestTurnsGoOnWhenTheCounterOverflows(t *testing.T) {
	for _, begin := range []uint64{math.MaxInt32 - 1, math.MaxInt64 - 2, math.MaxUint64 - 2} {
		is := is.New(t)
		var visited []string
		p := between(t, 3, &visited)
		p.begins.Store(begin)
		p.callTimes(t, 6)
		is.Equal(len(visited), 6) // no panic, and nobody refused
		for _, host := range []string{"h0", "h1", "h2"} {
			is.True(strings.Count(strings.Join(visited, " "), host) >= 1) // and all go on
		}
	}
}

func TestAllOf64EndpointsAreCalled(t *testing.T) {
	is := is.New(t)
	var visited []string
	between(t, MaxEndpoints, &visited).callTimes(t, 2*MaxEndpoints)
	for i, host := range visited {
		is.Equal(host, "h"+strconv.Itoa(i%MaxEndpoints)) // a bit of the word for each
	}
}

// A retry of a call with 64 endpoints has 63 others.
func TestPlacesAreTriedOnceBeforeAnyTwice(t *testing.T) {
	is := is.New(t)
	var visited []string
	p := between(t, MaxEndpoints, &visited)
	k := &call{Pipeline: p, routing: &routing{home: -1, turn: 60}}
	for n := range 3 * MaxEndpoints {
		first := -1
		for i := range k.places() {
			first = i
			break
		}
		is.Equal(first, (60+n)%MaxEndpoints) // round and round
		k.been(first)
	}
}

func TestPlacesYieldEachEndpointOnce(t *testing.T) {
	is := is.New(t)
	var visited []string
	p := between(t, 4, &visited)
	p.Route.Turns = []int{0, 1, 0, 2, 0, 3} // with weights
	for tried := range uint64(1 << 4) {
		for turn := range p.Route.Turns {
			k := &call{Pipeline: p, routing: &routing{home: -1, turn: turn, tried: tried}}
			var seen []int
			again := false
			for i := range k.places() {
				for _, before := range seen {
					is.True(before != i) // once
				}
				seen = append(seen, i)
				was := tried&(1<<i) != 0
				is.True(was || !again) // those that were not tried come first
				again = again || was
			}
			is.Equal(len(seen), 4) // and all of them
		}
	}
}
