package resilient_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// numbered are n endpoints.
func numbered(n int) []resilient.Endpoint {
	var names []string
	for i := range n {
		names = append(names, "h"+strconv.Itoa(i))
	}
	return places(names...)
}

func TestEndpointRules(t *testing.T) {
	t.Parallel()
	const (
		count  = "Endpoints: must be 1 to 64 endpoints; Endpoints(Off) has calls go where they say"
		scheme = "must begin with http:// or https://; write it as https://host/path"
		name65 = "Endpoints(Endpoint{Name: "
	)
	at := func(url string) resilient.Builder {
		return alone().Endpoints(resilient.RoundRobin, resilient.Endpoint{URL: url})
	}
	weight := func(by resilient.Routing, n int) resilient.Builder {
		return alone().Endpoints(by, resilient.Endpoint{URL: "http://a", Weight: n})
	}
	expect(t, map[string]ruling{
		"none":               {alone().Endpoints(resilient.RoundRobin), count},
		"one":                {alone().Endpoints(resilient.RoundRobin, numbered(1)...), ""},
		"64":                 {alone().Endpoints(resilient.RoundRobin, numbered(64)...), ""},
		"65":                 {alone().Endpoints(resilient.RoundRobin, numbered(65)...), count},
		"no routing":         {alone().Endpoints(nil, places("a")...), "Endpoints(nil): must not be nil; leave it out, or give one"},
		"zero routing":       {alone().Endpoints(resilient.Routing(0), places("a")...), "Endpoints(Routing(0)): must be RoundRobin, Ordered or Weighted; RoundRobin gives each its turn"},
		"no such routing":    {alone().Endpoints(resilient.Routing(4), places("a")...), "Endpoints(Routing(4)): must be RoundRobin, Ordered or Weighted; RoundRobin gives each its turn"},
		"nil key":            {alone().Endpoints(resilient.Ordered.StickyBy(nil), places("a")...), "Endpoints(StickyBy(nil)): must not be nil; leave it out, or give one"},
		"a key":              {alone().Endpoints(resilient.Ordered.StickyBy(byThread), places("a")...), ""},
		"off":                {alone().Endpoints(resilient.RoundRobin).Endpoints(resilient.Off), ""},
		"http":               {at("http://a/v1?k=1"), ""},
		"https":              {at("HTTPS://[::1]:8443/v%2F1"), ""},
		"no URL":             {at(""), `Endpoints(Endpoint{URL: ""}): ` + scheme},
		"another scheme":     {at("ftp://a"), `Endpoints(Endpoint{URL: "ftp://a"}): ` + scheme},
		"no scheme":          {at("a/v1"), `Endpoints(Endpoint{URL: "a/v1"}): ` + scheme},
		"a password":         {at("ftp://user:secret@a"), `Endpoints(Endpoint{URL: "ftp://REDACTED:REDACTED@a"}): ` + scheme},
		"not a URL":          {at("http://user:secret@a:b"), `Endpoints(Endpoint{URL: ...}): is no URL; write it as https://host/path`},
		"no host":            {at("http:///v1"), `Endpoints(Endpoint{URL: "http:///v1"}): must have a host; write it as https://host/path`},
		"an opaque URL":      {at("http:a"), `Endpoints(Endpoint{URL: "http:a"}): must have a host; write it as https://host/path`},
		"a port only":        {at("http://:80"), `Endpoints(Endpoint{URL: "http://:80"}): must have a host; write it as https://host/path`},
		"a fragment":         {at("http://a/v1#x"), `Endpoints(Endpoint{URL: "http://a/v1#REDACTED"}): must have no fragment; leave out what begins with #`},
		"weight below":       {weight(resilient.Weighted, 0), "Endpoints(Endpoint{Weight: 0}): must be 1 to 1000; 1 for each spreads evenly"},
		"negative weight":    {weight(resilient.Weighted, -1), "Endpoints(Endpoint{Weight: -1}): must be 1 to 1000; 1 for each spreads evenly"},
		"weight":             {weight(resilient.Weighted, 1), ""},
		"most weight":        {weight(resilient.Weighted, 1000), ""},
		"weight above":       {weight(resilient.Weighted, 1001), "Endpoints(Endpoint{Weight: 1001}): must be 1 to 1000; 1 for each spreads evenly"},
		"weight of no use":   {weight(resilient.Ordered, 1), "Endpoints(Endpoint{Weight: 1}): has a meaning with Weighted only; leave it out, or spread by Weighted"},
		"the same place":     {alone().Endpoints(resilient.Ordered, places("a", "b", "a")...), name65 + `"a"}): is given twice; give each a Name of its own`},
		"the same but names": {alone().Endpoints(resilient.Ordered, resilient.Endpoint{URL: "http://a", Name: "x"}, resilient.Endpoint{URL: "http://a"}), ""},
		"the same name":      {alone().Endpoints(resilient.Ordered, resilient.Endpoint{URL: "http://a"}, resilient.Endpoint{URL: "http://b", Name: "a"}), name65 + `"a"}): is given twice; give each a Name of its own`},
		"a slash apart":      {alone().Endpoints(resilient.Ordered, places("a/v1", "a/v1/")...), name65 + `"a/v1"}): is given twice; give each a Name of its own`},
		"per authority":      {alone().PerAuthority().Endpoints(resilient.Ordered, places("a")...), "PerAuthority(): excludes Endpoints, each of which has its own state; give one of them"},
		"several": {
			alone().Endpoints(resilient.Weighted, resilient.Endpoint{URL: "ftp://a"}),
			`Endpoints(Endpoint{URL: "ftp://a"}): ` + scheme + "\n" + `resilient: client "x": Endpoints(Endpoint{Weight: 0}): must be 1 to 1000; 1 for each spreads evenly`,
		},
	})
}

func TestEndpointNameAndHeaderRules(t *testing.T) {
	t.Parallel()
	named := func(name string) resilient.Builder {
		return alone().Endpoints(resilient.RoundRobin, resilient.Endpoint{URL: "http://a", Name: name})
	}
	header := func(name, value string) resilient.Builder {
		return alone().Endpoints(resilient.RoundRobin, resilient.Endpoint{URL: "http://a", Header: http.Header{name: {"x", value}}})
	}
	long := strings.Repeat("n", 201)
	expect(t, map[string]ruling{
		"a name":          {named("east, 1"), ""},
		"two lines":       {named("a\nb"), `Endpoints(Endpoint{Name: "a\nb"}): must be printable UTF-8; it is part of events, metrics and errors`},
		"too long":        {named(long), `Endpoints(Endpoint{Name: "` + long + `"}): must be at most 200 bytes long; shorten it`},
		"a header":        {header("api-key", "sécret\t1"), ""},
		"no header name":  {header("api key", "x"), `Endpoints(Endpoint{Header: "api key"}): must be the name of a header; write it as X-Api-Key`},
		"an empty name":   {header("", "x"), `Endpoints(Endpoint{Header: ""}): must be the name of a header; write it as X-Api-Key`},
		"Host":            {header("host", "b"), `Endpoints(Endpoint{Header: "host"}): has no effect: the Host header is the URL's; leave it out`},
		"no header value": {header("X-Key", "secret\n"), `Endpoints(Endpoint{Header: "X-Key"}): must have values without control characters; leave them out, line ends too`},
	})
}

func TestPipelineHasNoEndpoints(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := alone().Endpoints(resilient.RoundRobin, places("a")...).BuildPipeline()
	is.Equal(err.Error(), `resilient: client "x": Endpoints: has no meaning for a pipeline, which sends nothing; leave it out`)
}

func TestLastWordOnEndpointsCounts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := alone().Endpoints(resilient.Ordered.StickyBy(byThread), places("a", "b")...)
	is.True(b.Config().Endpoints.StickyBy != nil)
	b = b.Endpoints(resilient.RoundRobin, places("c")...)
	is.True(reflect.DeepEqual(b.Config().Endpoints, resilient.EndpointPolicy{Routing: resilient.RoundRobin, List: places("c")})) // none of the first, nor its key
	is.True(reflect.DeepEqual(b.Endpoints(resilient.Off).Config().Endpoints, resilient.EndpointPolicy{}))                        // off
}

func TestEndpointsAreReadFromDocuments(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := alone().JSON([]byte(`{"endpoints": {"routing": "weighted", "list": [
		{"url": "https://east.test/v1", "weight": 3}, {"weight": 1, "name": "spare", "url": "https://west.test"}]}}`)).Config()
	want := resilient.EndpointPolicy{Routing: resilient.Weighted, List: []resilient.Endpoint{
		{URL: "https://east.test/v1", Weight: 3}, {URL: "https://west.test", Name: "spare", Weight: 1},
	}}
	is.True(reflect.DeepEqual(c.Endpoints, want))

	document, err := json.Marshal(resilient.Config{Endpoints: want})
	is.NoErr(err)
	is.True(strings.Contains(string(document), `"endpoints":{"routing":"weighted","list":[`+
		`{"url":"https://east.test/v1","weight":3},{"url":"https://west.test","name":"spare","weight":1}]}`)) // and written
	var back resilient.Config
	is.NoErr(json.Unmarshal(document, &back))
	is.True(reflect.DeepEqual(back.Endpoints, want)) // as it was

	c = alone().Endpoints(resilient.Ordered, places("a", "b")...).JSON([]byte(`{"endpoints": {"routing": "roundRobin"}}`)).Config()
	is.True(reflect.DeepEqual(c.Endpoints, resilient.EndpointPolicy{Routing: resilient.RoundRobin, List: places("a", "b")})) // what is left out stays
	c = alone().Endpoints(resilient.Ordered, places("a")...).JSON([]byte(`{"endpoints": "off"}`)).Config()
	is.True(reflect.DeepEqual(c.Endpoints, resilient.EndpointPolicy{}))
}

// Keys and functions have no place in a document, and nobody may think that they had been read.
func TestEndpointDocumentsAreStrict(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"endpoints": {"list": {}}}`:                                             "endpoints.list",
		`{"endpoints": {"list": null}}`:                                           "endpoints.list",
		`{"endpoints": {"list": [null]}}`:                                         "endpoints.list[0]",
		`{"endpoints": {"list": [{"url": "http://a"}, "http://b"]}}`:              "endpoints.list[1]",
		`{"endpoints": {"list": [{"url": 1}]}}`:                                   "endpoints.list[0].url",
		`{"endpoints": {"list": [{"URL": "http://a"}]}}`:                          "endpoints.list[0].URL",
		`{"endpoints": {"list": [{"url": "http://a", "url": "http://b"}]}}`:       "endpoints.list[0].url",
		`{"endpoints": {"list": [{"url": "http://a", "name": null}]}}`:            "endpoints.list[0].name",
		`{"endpoints": {"list": [{"url": "http://a", "weight": 1.5}]}}`:           "endpoints.list[0].weight",
		`{"endpoints": {"list": [{"url": "http://a", "header": {"X": ["y"]}}]}}`:  "endpoints.list[0].header",
		`{"endpoints": {"routing": "RoundRobin", "list": [{"url": "http://a"}]}}`: "endpoints.routing",
		`{"endpoints": {"stickyBy": "x"}}`:                                        "endpoints.stickyBy",
	} {
		t.Run(want, func(t *testing.T) {
			is := is.New(t)
			var c resilient.Config
			err := json.Unmarshal([]byte(document), &c)
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), want))                              // it names the place
			is.True(reflect.DeepEqual(c, resilient.Config{}))                         // and nothing is set
			is.True(strings.Contains(mistakes(alone().JSON([]byte(document))), want)) // neither by a builder
		})
	}
	is := is.New(t)
	is.True(mistakes(alone().JSON([]byte(`{"endpoints": {}}`))) != "") // on, without any
}

func TestRoutingHasAName(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(resilient.RoundRobin.String(), "roundRobin")
	is.Equal(resilient.Ordered.String(), "ordered")
	is.Equal(resilient.Weighted.String(), "weighted")
	is.Equal(resilient.Routing(7).String(), "Routing(7)")
	var r resilient.Routing
	is.True(r.UnmarshalJSON([]byte(`"random"`)) != nil)
	is.True(r.UnmarshalJSON([]byte(`1`)) != nil)
	is.Equal(r, resilient.Routing(0))
}
