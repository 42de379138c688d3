package others_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// timed tells what the caller hears, and when.
func timed(f func() string) string {
	start := time.Now()
	heard := f()
	return fmt.Sprintf("%s after %v", heard, time.Since(start).Round(time.Second))
}

// withinADay is timed, with a caller that gives up after a day.
func (u subject) withinADay(ctx context.Context, f func(context.Context) string) string {
	const day = 24 * time.Hour
	ctx, cancel := context.WithTimeout(ctx, day)
	defer cancel()
	start := time.Now()
	heard := f(ctx)
	if time.Since(start) >= day {
		return "never"
	}
	return fmt.Sprintf("%s after %v", heard, time.Since(start).Round(time.Second))
}

// The server asks to be left alone for three seconds. Is it?
func TestSecondsThatAServerAsksFor(t *testing.T) {
	ask(t, found{
		retryable: "201 after 3s",
		failsafe:  "201 after 3s",
		resilient: "201 after 3s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.TooManyRequests(3 * time.Second))
		return timed(func() string { return u.order(ctx) })
	})
}

// The same, as a date.
func TestDateThatAServerAsksFor(t *testing.T) {
	ask(t, found{
		retryable: "201 after 3s",
		failsafe:  "201 after 0s",
		resilient: "201 after 3s",
	}, func(ctx context.Context, u subject) string {
		date := time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
		u.On("POST /orders").Script(httptestx.Plan(httptestx.Status(429, "Retry-After", date)))
		return timed(func() string { return u.order(ctx) })
	})
}

// The server asks to be left alone for an hour. How long does the caller wait?
func TestHourThatAServerAsksFor(t *testing.T) {
	ask(t, found{
		retryable: "201 after 1h0m0s",
		failsafe:  "201 after 1h0m0s",
		resilient: "503 after 0s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.Unavailable(time.Hour))
		return timed(func() string { return u.order(ctx) })
	})
}

// The same, and the caller has ten seconds. What does he hear, and when?
func TestHourThatTheCallerDoesNotHave(t *testing.T) {
	ask(t, found{
		retryable: "error after 10s",
		failsafe:  "error after 10s",
		resilient: "503 after 0s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.Unavailable(time.Hour))
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return timed(func() string { return u.order(ctx) })
	})
}

// The server asks for 9999999999 seconds, which is more than a time.Duration holds. When is it asked again?
func TestCenturiesThatAServerAsksFor(t *testing.T) {
	ask(t, found{
		retryable: "201 after 0s",
		failsafe:  "201 after 0s",
		resilient: "503 after 0s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.Plan(httptestx.Status(503, "Retry-After", "9999999999")))
		return timed(func() string { return u.order(ctx) })
	})
}

// The caller goes away while the client waits for its next attempt. When is the call over?
func TestCallerWhoLeavesDuringTheWait(t *testing.T) {
	ask(t, found{
		retryable: "canceled after 2s",
		failsafe:  "canceled after 2s",
		resilient: "canceled after 2s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Do(httptestx.TooManyRequests(20 * time.Second)...)
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(2*time.Second, cancel)
		return timed(func() string {
			resp, err := u.client.Do(u.request(ctx, "POST", nil))
			switch {
			case errors.Is(err, context.Canceled):
				return "canceled"
			case err != nil:
				return "error"
			}
			_ = resp.Body.Close()
			return resp.Status
		})
	})
}

// The server takes the request and says nothing. When does a caller hear who gave no deadline, with what the client does by
// itself?
func TestServerThatSaysNothing(t *testing.T) {
	ask(t, found{
		retryable: "never",
		failsafe:  "never",
		resilient: "error after 30s",
	}, silence)
}

func silence(ctx context.Context, u subject) string {
	u.On("/").Do(httptestx.Stall...)
	return u.withinADay(ctx, u.get)
}

// A server that answers is down. How many requests does it get for a hundred calls?
func TestCallsToAServerThatIsDown(t *testing.T) {
	ask(t, found{
		retryable: "400 requests for 100 calls",
		failsafe:  "400 requests for 100 calls",
		resilient: "100 requests for 100 calls",
	}, down)
}

func down(ctx context.Context, u subject) string {
	u.On("/").Do(httptestx.Unavailable(0)...)
	for range 100 {
		u.get(ctx)
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Sprintf("%d requests for 100 calls", len(u.Exchanges()))
}

// Fifty callers fail in the same moment. In how many moments do they come back?
func TestCallersWhoComeBackTogether(t *testing.T) {
	ask(t, found{
		retryable: "all in one moment",
		failsafe:  "all in one moment",
		resilient: "spread out",
	}, comeBack)
}

func comeBack(ctx context.Context, u subject) string {
	const callers = 50
	u.On("/").First(callers).Do(httptestx.Unavailable(0)...)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() { u.get(ctx) })
	}
	wait.Wait()
	moments := make(map[time.Time]bool)
	again := u.Exchanges()[callers:]
	for _, x := range again {
		moments[x.Arrived] = true
	}
	switch {
	case len(again) < callers:
		return fmt.Sprintf("only %d come back", len(again))
	case len(moments) == 1:
		return "all in one moment"
	case len(moments) > callers/2:
		return "spread out"
	}
	return fmt.Sprintf("in %d moments", len(moments))
}

// An answer begins at once and takes five seconds; the timeout of an attempt is one. Does the caller get it?
func TestAnswerThatTakesItsTime(t *testing.T) {
	askWithTimeout(t, found{
		retryable: "201, 0 bytes and an error",
		failsafe:  "201",
		resilient: "201",
	}, func(ctx context.Context, u subject) string {
		u.On("GET /orders").Do(httptestx.SlowBody(5 * time.Second)...)
		return u.get(ctx)
	})
}
