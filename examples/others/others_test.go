package others_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// What is found of one client: see the table in docs/guides/testing-other-clients.md.
type finding struct {
	name   string
	client func(http.RoundTripper) *http.Client
	want   string
}

// inBubble looks into each client in memory and in virtual time.
func inBubble(t *testing.T, findings []finding, look func(s *httptestx.Server, c *http.Client) string) {
	t.Helper()
	for _, f := range findings {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f.find(t, httptestx.NewServer(t, shop()), look) })
		})
	}
}

// onLoopback is for clients that leave something behind, which a bubble does not let pass.
func onLoopback(t *testing.T, findings []finding, look func(s *httptestx.Server, c *http.Client) string) {
	t.Helper()
	for _, f := range findings {
		t.Run(f.name, func(t *testing.T) {
			s := httptestx.NewServer(t, shop())
			s.Start()
			f.find(t, s, look)
		})
	}
}

func (f finding) find(t *testing.T, s *httptestx.Server, look func(s *httptestx.Server, c *http.Client) string) {
	t.Helper()
	if got := look(s, f.client(s.Client().Transport)); got != f.want {
		t.Errorf("got %q, want %q", got, f.want)
	}
}

// The order was taken, and the answer is lost. Whoever asks again orders twice.
func TestOrderWhoseAnswerIsLost(t *testing.T) {
	inBubble(t, []finding{
		{"go-retryablehttp", retryable, "201, taken twice"},
		{"failsafe-go", failsafe, "201, taken twice"},
		{"resilient", ours, "error, taken once"},
	}, func(s *httptestx.Server, c *http.Client) string {
		s.On("POST /orders").Script(httptestx.LostResponse)
		answer := order(c, s.URL)
		taken := 0
		for _, x := range s.Exchanges() {
			if x.Handled {
				taken++
			}
		}
		return answer + map[int]string{1: ", taken once", 2: ", taken twice"}[taken]
	})
}

// The server is busy and says why. The last answer is what a caller needs to see, and the answers before it are to be
// closed, so that their connection is used again.
func TestAnswersOfABusyServer(t *testing.T) {
	onLoopback(t, []finding{
		{"go-retryablehttp", retryable, "error, 4 requests over 1 connections"},
		{"failsafe-go", failsafe, "error, 4 requests over 4 connections"},
		{"resilient", ours, "503 out of stock, 4 requests over 1 connections"},
	}, func(s *httptestx.Server, c *http.Client) string {
		s.On("POST /orders").Do(httptestx.Status(503, "X-Reason", "out of stock"))
		answer := "error"
		if resp, err := c.Post(s.URL+"/orders", "application/json", strings.NewReader("{}")); err == nil {
			_ = resp.Body.Close()
			answer = "503 " + resp.Header.Get("X-Reason")
		}
		connections := map[int]bool{}
		for _, x := range s.Exchanges() {
			connections[x.Conn] = true
		}
		return fmt.Sprintf("%s, %d requests over %d connections", answer, len(s.Exchanges()), len(connections))
	})
}

// The server asks to be left alone for an hour. (failsafe-go leaves the connection of the first answer open, which a
// bubble does not let pass: see above.)
func TestHourThatAServerAsksFor(t *testing.T) {
	inBubble(t, []finding{
		{"go-retryablehttp", retryable, "1h0m0s"},
		{"resilient", ours, "0s"},
	}, func(s *httptestx.Server, c *http.Client) string {
		s.On("POST /orders").Script(httptestx.Unavailable(time.Hour))
		start := time.Now()
		order(c, s.URL)
		return time.Since(start).Round(time.Minute).String()
	})
}
