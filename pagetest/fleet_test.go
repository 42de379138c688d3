package pagetest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
)

// A fleet is some clients on a clock of its own, so that ten minutes pass at once.
type fleet struct {
	*testing.T
	*resilient.Registry
	clock   *clockwork.FakeClock
	members []*member
}

// A member is a client, and how often it is called.
type member struct {
	client *http.Client
	method string
	hosts  int
	every  int // seconds
	calls  int
	status func(call int) int // that is answered to it
	east   bool               // the endpoint in the east wants to be left alone
}

func newFleet(t *testing.T) *fleet {
	return &fleet{T: t, Registry: resilient.NewRegistry(), clock: clockwork.NewFakeClockAt(time.Now())}
}

// add builds a client. One that is to retry has to do so at once, for nobody moves the clock meanwhile.
func (f *fleet) add(b resilient.Builder, m member) *member {
	f.Helper()
	c, err := b.Registry(f.Registry).Clock(f.clock).Transport(&m).Build()
	if err != nil {
		f.Fatal(err)
	}
	m.client = c
	f.members = append(f.members, &m)
	return &m
}

func (m *member) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: m.status(m.calls), Header: http.Header{}, Body: io.NopCloser(strings.NewReader("text")), Request: r}
	if m.east && strings.HasPrefix(r.URL.Host, "east") {
		resp.StatusCode = http.StatusTooManyRequests
		resp.Header.Set("Retry-After", "20")
	}
	return resp, nil
}

// call calls once, and leaves the body open if it is told to.
func (m *member) call(keep bool) {
	m.calls++
	req, _ := http.NewRequest(m.method, fmt.Sprintf("https://host-%d.example/", m.calls%max(m.hosts, 1)), nil)
	if resp, err := m.client.Do(req); err == nil && !keep {
		resp.Body.Close()
	}
}

// play lets time pass, and has the clients called.
func (f *fleet) play(length time.Duration) {
	for s := range int(length / time.Second) {
		f.clock.Advance(time.Second)
		for _, m := range f.members {
			if m.every > 0 && s%m.every == 0 {
				m.call(false)
				m.call(false)
			}
		}
	}
}

// always answers the same.
func always(status int) func(int) int { return func(int) int { return status } }

// once fails one call of so many.
func once(of int) func(int) int {
	return func(n int) int {
		if n%of == 0 {
			return 503
		}
		return 200
	}
}

// fromOn fails all calls from one on.
func fromOn(first int) func(int) int {
	return func(n int) int {
		if n >= first {
			return 503
		}
		return 200
	}
}

// inTrouble is a fleet of which most have some.
func inTrouble(t *testing.T) *fleet {
	f := newFleet(t)
	f.record()
	window := resilient.SamplingDuration(30 * time.Second)
	plain := func(name string) resilient.Builder {
		return resilient.New(name).Breaker(resilient.Off).Retry(resilient.Backoff(0, 0))
	}
	f.add(plain("inventory").Breaker(), member{method: "GET", every: 1, status: once(40)})
	f.add(plain("pricing").Budget(resilient.RetryRatio(0.1), window, resilient.MinimumThroughput(10)), member{method: "GET", every: 1, status: fromOn(900)})
	f.add(resilient.New("payments").Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0)), member{method: "POST", every: 4, status: func(n int) int { return 200 + 302*min(1, n%3) }})
	f.add(plain("search").Breaker(resilient.MinimumThroughput(10), resilient.BreakDuration(20*time.Second)), member{method: "GET", every: 2, status: fromOn(350)})
	images := f.add(plain("images").Concurrency(resilient.Permits(4)), member{method: "GET", status: always(200)})
	f.add(plain("azure-openai").Breaker().RateLimit(resilient.PerMinute(600)).Retry(resilient.MaxRetries(2)).Endpoints(resilient.RoundRobin,
		resilient.Endpoint{Name: "east-us", URL: "https://east.example"}, resilient.Endpoint{Name: "west-us", URL: "https://west.example"}),
		member{method: "POST", every: 3, status: always(200), east: true})
	f.add(plain("legacy").Retry(resilient.Off), member{method: "GET", every: 5, status: once(3)})
	f.add(plain("crawler").PerAuthority().Breaker(resilient.MinimumThroughput(5)), member{method: "GET", hosts: 3, every: 2, status: once(90)})
	f.add(plain("archive"), member{method: "GET", status: always(200)})
	mail := f.add(plain("mail").Breaker(), member{method: "POST", every: 5, status: always(200)})
	f.play(9 * time.Minute)
	if err := f.Isolate("mail"); err != nil {
		t.Fatal(err)
	}
	f.play(time.Minute)
	mail.call(false)
	for range 6 {
		images.call(true)
	}
	return f
}

// record begins the history.
func (f *fleet) record() { f.Handler() }

// exhausted is a fleet of one, whose budget is.
func exhausted(t *testing.T) (*fleet, *member) {
	f := newFleet(t)
	f.record()
	m := f.add(resilient.New("pricing").Breaker(resilient.Off).Retry(resilient.Backoff(0, 0)).Budget(resilient.RetryRatio(0.1), resilient.MinimumThroughput(1)),
		member{method: "GET", status: always(503)})
	for range 120 {
		m.call(false)
	}
	return f, m
}
