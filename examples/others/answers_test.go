package others_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// The shop stays closed, and says why. Does the caller see that?
func TestLastAnswerOfABusyServer(t *testing.T) {
	ask(t, found{
		retryable: "error",
		failsafe:  "error",
		resilient: "503 out of stock",
	}, lastAnswer)
}

func lastAnswer(ctx context.Context, u subject) string {
	u.On("POST /orders").Do(httptestx.Status(503, "X-Reason", "out of stock"))
	resp, err := u.client.Do(u.request(ctx, "POST", strings.NewReader("{}")))
	if err != nil {
		return "error"
	}
	_ = resp.Body.Close()
	return strconv.Itoa(resp.StatusCode) + " " + resp.Header.Get("X-Reason")
}

// Over how many connections are four requests sent, each of which is refused in a few words?
func TestConnectionsThatShortRefusalsCost(t *testing.T) {
	ask(t, found{
		retryable: "4 requests over one connection",
		failsafe:  "4 requests over 4 connections",
		resilient: "4 requests over one connection",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Do(httptestx.Unavailable(0)...)
		u.order(ctx)
		return u.sent()
	})
}

// And if each refusal is a page of 32 KiB?
func TestConnectionsThatLongRefusalsCost(t *testing.T) {
	ask(t, found{
		retryable: "4 requests over 4 connections",
		failsafe:  "4 requests over 4 connections",
		resilient: "4 requests over one connection",
	}, func(ctx context.Context, u subject) string {
		u.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("sorry ", 32<<10/6), http.StatusServiceUnavailable)
		})
		u.order(ctx)
		return u.sent()
	})
}

// The first refusal has a body that never ends. When does the caller hear?
func TestRefusalWithoutAnEnd(t *testing.T) {
	ask(t, found{
		retryable: "never",
		failsafe:  "201 after 0s",
		resilient: "201 after 0s",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.Plan(httptestx.Status(503), httptestx.Send(5), httptestx.Hang))
		return u.withinADay(ctx, func(ctx context.Context) string { return u.order(ctx) })
	})
}

// Which statuses is a GET repeated for?
func TestStatusesThatAreRepeated(t *testing.T) {
	ask(t, found{
		retryable: "429 500 502 503 504 505",
		failsafe:  "429 500 502 503 504 505",
		resilient: "408 429 500 502 503 504",
	}, func(ctx context.Context, u subject) string {
		u.On("/").Func(func(r *http.Request, _ int) []httptestx.Step {
			code, _ := strconv.Atoi(r.Header.Get("X-Code"))
			return httptestx.Plan(httptestx.Status(code))
		})
		var repeated []string
		for _, code := range []string{"400", "404", "408", "409", "425", "429", "500", "501", "502", "503", "504", "505"} {
			before := len(u.Exchanges())
			req := u.request(ctx, "GET", nil)
			req.Header.Set("X-Code", code)
			u.hear(req)
			if len(u.Exchanges()) > before+1 {
				repeated = append(repeated, code)
			}
			time.Sleep(time.Minute) // nothing of one is left for the next
		}
		return strings.Join(repeated, " ")
	})
}

// The server's certificate is not to be trusted, and will not be a moment later. How many handshakes are there?
func TestCertificateThatIsNotTrusted(t *testing.T) {
	ask(t, found{
		retryable: "one handshake",
		failsafe:  "4 handshakes",
		resilient: "one handshake",
	}, func(ctx context.Context, u subject) string {
		u.Client().Transport.(*http.Transport).TLSClientConfig = nil
		u.order(ctx)
		if n := u.Connections(); n > 1 {
			return strconv.Itoa(n) + " handshakes"
		}
		return "one handshake"
	}, httptestx.WithTLS())
}
