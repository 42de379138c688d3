package resilient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestHandlerIsolatesAndReleasesOnlyIfItMay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		allow  bool
		method string
		header map[string]string
		body   string
		status int
		state  string
	}{
		{name: "isolate", allow: true, body: `{"action":"isolate","client":"x"}`, status: 200, state: "isolated"},
		{name: "release", allow: true, body: `{"action":"release","client":"x"}`, status: 200, state: "closed"},
		{name: "from the page", allow: true, header: map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://example.com"}, status: 200, state: "isolated"},
		{name: "from the page, in an old browser", allow: true, header: map[string]string{"Origin": "http://example.com"}, status: 200, state: "isolated"},
		{name: "not allowed", status: 403, state: "closed"},
		{name: "from another site", allow: true, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, status: 403, state: "closed"},
		{name: "from another host of the site", allow: true, header: map[string]string{"Sec-Fetch-Site": "same-site"}, status: 403, state: "closed"},
		{name: "from another origin", allow: true, header: map[string]string{"Origin": "http://evil.test"}, status: 403, state: "closed"},
		{name: "from no origin", allow: true, header: map[string]string{"Origin": "null"}, status: 403, state: "closed"},
		{name: "by a form", allow: true, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, status: 415, state: "closed"},
		{name: "by a form of text", allow: true, header: map[string]string{"Content-Type": "text/plain"}, status: 415, state: "closed"},
		{name: "by a GET", allow: true, method: "GET", status: 200, state: "closed"},
		{name: "by a PUT", allow: true, method: "PUT", status: 405, state: "closed"},
		{name: "nobody", allow: true, body: `{"action":"isolate","client":"y"}`, status: 404, state: "closed"},
		{name: "who has no breaker", allow: true, body: `{"action":"isolate","client":"bare"}`, status: 404, state: "closed"},
		{name: "something else", allow: true, body: `{"action":"destroy","client":"x"}`, status: 400, state: "closed"},
		{name: "nothing", allow: true, body: `{`, status: 400, state: "closed"},
		{name: "too much", allow: true, body: `{"action":"isolate","client":"x", "x":"` + strings.Repeat("x", 5000) + `"}`, status: 400, state: "closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			registry := resilient.NewRegistry()
			in(registry, "x").Breaker().MustBuild()
			in(registry, "bare").MustBuild()
			var options []resilient.HandlerOption
			if c.allow {
				options = append(options, resilient.AllowIsolation)
			}
			if c.body == "" {
				c.body = `{"action":"isolate","client":"x"}`
			}
			if c.method == "" {
				c.method = "POST"
			}
			r := httptest.NewRequest(c.method, "http://example.com/page?action=isolate&client=x", strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			for name, value := range c.header {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			registry.Handler(options...).ServeHTTP(w, r)
			is.Equal(w.Code, c.status)                              // the answer
			is.Equal(registry.Snapshot()[1].Breaker.State, c.state) // what came of it
		})
	}
}

func TestPageOffersButtonsOnlyIfTheyWork(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	is.True(!visit(t, r.Handler(), "").Steering)                        // not unless it is said
	is.True(!visit(t, r.Handler(nil), "").Steering)                     // nil says nothing
	is.True(visit(t, r.Handler(resilient.AllowIsolation), "").Steering) // now it is
}

// What a client costs that nobody watches must not change with all of this, and what a handler costs is bounded.
func TestNothingIsRecordedBeforeThereIsAHandler(t *testing.T) {
	is := is.New(t)
	cost := func(r *resilient.Registry) float64 {
		c, err := in(r, "x").Retry(resilient.MaxRetries(1)).Transport(answer(200)).BuildTransport()
		is.NoErr(err)
		req, _ := http.NewRequest("GET", "http://x.test/", nil)
		return testing.AllocsPerRun(200, func() {
			resp, _ := c.RoundTrip(req)
			resp.Body.Close()
		})
	}
	off, on := resilient.NewRegistry(), resilient.NewRegistry()
	h := on.Handler()
	without := cost(off)
	is.True(cost(on) <= without+1)                                      // with it, the one function that is told
	is.Equal(visit(t, h, "").States[0].LastMinute.Calls > 0, true)      // which has counted
	is.Equal(visit(t, off.Handler(), "").States[0].LastMinute.Calls, 0) // and the other has not
}

func TestClientsBuiltAfterAHandlerAreRecordedToo(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	early := in(r, "early").Transport(answer(200)).MustBuild()
	get(t, early, "http://x.test/")
	h := r.Handler()
	late := in(r, "late").PerAuthority().Transport(answer(200)).MustBuild()
	for _, c := range []*http.Client{early, late} {
		get(t, c, "http://x.test/")
	}
	for _, s := range visit(t, h, "").States {
		is.Equal(s.LastMinute.Calls, 1) // since there is a handler
	}
}

func TestWhatIsDoneByHandIsInTheHistoryOfEachEndpoint(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	h := r.Handler()
	c := endpoints(in(r, "x").Breaker()).Transport(answer(200)).MustBuild()
	get(t, c, "http://x.test/")
	is.NoErr(r.Isolate("x"))
	is.NoErr(r.Isolate("x")) // to no effect
	d := visit(t, h, "detail="+visit(t, h, "").States[0].ID).Detail
	changed := map[string]int{}
	for _, c := range d.Changes {
		is.True(c.ByHand && c.To == "isolated") // nothing else has happened
		changed[c.Endpoint]++
	}
	is.Equal(changed, map[string]int{"": 1, "east": 1, "west": 1}) // each once, and that of requests that go elsewhere
}
