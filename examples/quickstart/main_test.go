package main

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that arrive together are done one after the other, and the queue ends at its limit.
func TestDependencyQueues(t *testing.T) {
	const work = time.Second / capacity
	d := &dependency{}
	for n := 1; n <= capacity+1; n++ {
		if wait, ok := d.accept(0); !ok || wait != time.Duration(n)*work {
			t.Fatalf("request %d: done after %v (accepted: %v), want %v", n, wait, ok, time.Duration(n)*work)
		}
	}
	if _, ok := d.accept(0); ok {
		t.Error("a request that would wait for longer than the queue's limit was accepted")
	}
	if wait, ok := d.accept(queueLimit); !ok || wait != 2*work {
		t.Errorf("later: done after %v (accepted: %v), want the one piece of work that is left and its own", wait, ok)
	}
	if d.arrived() != capacity+3 {
		t.Errorf("%d requests arrived, want all that were sent, the refused one included", d.arrived())
	}
}

// A brown-out makes the work slower, and it ends.
func TestDependencyBrownsOut(t *testing.T) {
	d := &dependency{}
	for _, step := range []struct{ at, want time.Duration }{
		{0, time.Second / capacity},
		{healthyFor - 1, time.Second / capacity},
		{healthyFor + time.Second, time.Second / degraded},
		{healthyFor + brownoutFor, time.Second / capacity},
	} {
		if wait, ok := d.accept(step.at); !ok || wait != step.want {
			t.Errorf("at %v: done after %v (accepted: %v), want %v", step.at, wait, ok, step.want)
		}
	}
}

// The answer takes as long as the work, even if the client has left, and a full queue answers at once.
func TestDependencyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, leave := context.WithCancel(t.Context())
		leave()
		d := &dependency{clock: newClock()}
		for _, step := range []struct {
			ahead  time.Duration // work in the queue
			status int
			took   time.Duration
		}{
			{0, http.StatusOK, time.Second / capacity},
			{queueLimit, http.StatusOK, queueLimit + time.Second/capacity},
			{queueLimit + 1, http.StatusServiceUnavailable, 0},
		} {
			began := time.Now()
			d.free = d.clock.now() + step.ahead
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequestWithContext(left, http.MethodGet, "/", nil))
			if took := time.Since(began); w.Code != step.status || took != step.took {
				t.Errorf("%v of work ahead: %d after %v, want %d after %v", step.ahead, w.Code, took, step.status, step.took)
			}
		}
	})
}

func TestClockStandsStillWithTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for _, step := range []struct {
			sleep, tick, shows time.Duration
			why                string
		}{
			{10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond, "in time"},
			{tolerance, 20 * time.Millisecond, 10*time.Millisecond + tolerance, "a little late, so it goes on"},
			{3 * time.Second, 30 * time.Millisecond, 30*time.Millisecond + tolerance, "far too late, so it stood still"},
		} {
			time.Sleep(step.sleep)
			before := c.now()
			c.tick(step.tick)
			if now := c.now(); now != step.shows || now < before {
				t.Errorf("the clock shows %v after %v, want %v: %s", now, before, step.shows, step.why)
			}
		}
		if want := 3*time.Second - 20*time.Millisecond; c.stood != want {
			t.Errorf("the clock stood still for %v, want %v", c.stood, want)
		}
	})
}

func TestNaiveRetriesAreThreeAtOnce(t *testing.T) {
	sent := 0
	send := naively(func(string) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusBadGateway, Body: http.NoBody}, nil
	})
	if resp, err := send(""); err != nil || resp.StatusCode != http.StatusBadGateway || sent != 4 {
		t.Errorf("got %v, %v after %d attempts, want the last response of four", resp, err, sent)
	}
}

func TestFiguresOfARun(t *testing.T) {
	const recovered = 3 * time.Second // after the brown-out
	var outcomes []outcome
	for at := time.Duration(0); at < runFor; at += 10 * time.Millisecond {
		ok := at < healthyFor || at >= healthyFor+brownoutFor+recovered
		outcomes = append(outcomes, outcome{began: at, ok: ok})
	}
	got := newFigures("client", outcomes, 2*len(outcomes))
	want := figures{"client", 1100, 2200, 1, 0, 0.5, 1, recovered}
	if got != want || got.amplification() != 2 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i := range outcomes {
		outcomes[i].ok = false
	}
	if got := recovery(outcomes); got != never {
		t.Errorf("recovery of a client without a success: %v, want never", got)
	}
}

func TestTableOfFigures(t *testing.T) {
	var b strings.Builder
	printFigures(&b, []figures{
		{bare, 1320, 1320, 1, 0.099, 0.75, 1, 1500 * time.Millisecond},
		{naive, 1320, 4512, 1, 0.083, 0, 0, never},
		{conservative, 1320, 0, math.NaN(), 0, 1, 0.999, 0},
	})
	const want = `
                    attempts attempts  success                         recovered
              calls  arrived per call  before during  after last 2 s      after
bare client    1320     1320     1.00   100 %    9 %   75 %    100 %      1.5 s
naive retries  1320     4512     3.42   100 %    8 %    0 %      0 %      never
Conservative   1320        0     0.00       -    0 %  100 %     99 %      0.0 s
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

func TestTableOfPurchases(t *testing.T) {
	var b strings.Builder
	printPurchases(&b, []purchase{
		{naive, 2, 2, true, "201 Created"},
		{conservative, 1, 1, false, "connection reset"},
	})
	const want = `
                       requests orders  what the caller got
naive retries                 2      2  201 Created
Conservative                  1      1  connection reset
`
	if got := "\n" + b.String(); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

func TestProgramFailsIfOneClaimDoes(t *testing.T) {
	holds, fails := claim{"water is wet", "100 %", true}, claim{"pigs fly", "0 m", false}
	var b strings.Builder
	if code := verdict(&b, []claim{holds, holds}); code != 0 {
		t.Errorf("exit code %d though all claims hold", code)
	}
	b.Reset()
	if code := verdict(&b, []claim{fails, holds}); code != 1 {
		t.Errorf("exit code %d though a claim failed", code)
	}
	const want = "FAILED  pigs fly (0 m)\nok      water is wet (100 %)\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// Each claim of the first part is broken by figures that are just too bad for it, and by no figures at all.
func TestBrownoutClaimsCanFail(t *testing.T) {
	good := []figures{
		{name: bare, calls: 100, attempts: 100, last: 0.9},
		{name: naive, calls: 100, attempts: 200, last: 0.6},
		{name: conservative, calls: 100, attempts: 120, last: 0.91},
	}
	for i, c := range brownoutClaims(good) {
		if !c.holds {
			t.Errorf("claim %d fails on good figures: %s (%s)", i, c.text, c.figures)
		}
	}
	bad := []figures{
		{name: bare, calls: 100, attempts: 100, last: 0.89},
		{name: naive, calls: 100, attempts: 199, last: 0.6},
		{name: conservative, calls: 100, attempts: 121, last: 0.89},
	}
	for _, of := range [][]figures{bad, nil} {
		for i, c := range brownoutClaims(of) {
			if c.holds {
				t.Errorf("claim %d holds: %s (%s)", i, c.text, c.figures)
			}
		}
	}
}

func TestLostAnswerOfAnOrder(t *testing.T) {
	purchases, refused, err := buyBooks()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range orderClaims(purchases) {
		if !c.holds {
			t.Errorf("claim %d: %s: %+v", i, c.text, purchases[i])
		}
	}
	if refused != "ambiguous" {
		t.Errorf("Conservative did not retry because of %q, want ambiguous", refused)
	}
}
