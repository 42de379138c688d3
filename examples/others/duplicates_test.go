package others_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// An order was taken and its answer is lost. How often is it taken?
func TestOrderWhoseAnswerIsLost(t *testing.T) {
	ask(t, found{
		retryable: "201; taken twice",
		failsafe:  "201; taken twice",
		resilient: "error; taken once",
	}, lostAnswer)
}

func lostAnswer(ctx context.Context, u subject) string {
	u.On("POST /orders").Script(httptestx.LostResponse)
	return u.order(ctx) + "; " + u.taken()
}

// The shop takes an order, but is slower than the timeout of an attempt. How often is it taken?
func TestOrderThatTakesLong(t *testing.T) {
	askWithTimeout(t, found{
		retryable: "error; taken 4 times",
		failsafe:  "error; taken 4 times",
		resilient: "error; taken once",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Do(httptestx.Handle, httptestx.Delay(2*time.Second))
		return u.order(ctx) + "; " + u.taken()
	})
}

// The answer to the first attempt was lost, but the order has an Idempotency-Key, and the shop knows its keys. Is it an
// order, and does the caller know?
func TestOrderWithAKey(t *testing.T) {
	ask(t, found{
		retryable: "201; taken once",
		failsafe:  "201; taken once",
		resilient: "201; taken once",
	}, func(ctx context.Context, u subject) string {
		u.Config.Handler = httptestx.Idempotent(shop())
		u.On("POST /orders").Script(httptestx.LostResponse)
		return u.order(ctx, "Idempotency-Key", "k-17") + "; " + u.taken()
	})
}

// The shop refuses the connection at first. Nothing can have happened, so is the order sent again?
func TestOrderThatFindsNobody(t *testing.T) {
	ask(t, found{
		retryable: "201; taken once",
		failsafe:  "201; taken once",
		resilient: "201; taken once",
	}, func(ctx context.Context, u subject) string {
		u.OnConn().First(2).Do(httptestx.Refuse)
		return u.order(ctx) + "; " + u.taken()
	})
}

// The order was taken and a part of the answer is lost. The caller has the status; is the order sent again?
func TestOrderWhoseAnswerIsCut(t *testing.T) {
	ask(t, found{
		retryable: "201, 2 bytes and an error; taken once",
		failsafe:  "201, 2 bytes and an error; taken once",
		resilient: "201, 2 bytes and an error; taken once",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.TruncatedBody(2))
		return u.order(ctx) + "; " + u.taken()
	})
}

// A connection that was used before is reset, four times. With a key, net/http sends once more by itself. How many
// requests arrive from a client with three retries?
func TestRequestsThatNetHTTPAdds(t *testing.T) {
	ask(t, found{
		retryable: "5 requests over 5 connections",
		failsafe:  "5 requests over 5 connections",
		resilient: "4 requests over 4 connections",
	}, func(ctx context.Context, u subject) string {
		u.get(ctx)
		u.Forget()
		u.On("POST /orders").Do(httptestx.ResetBeforeHandler...)
		u.order(ctx, "Idempotency-Key", "k-17")
		return u.sent()
	})
}

// The server says goodbye (GOAWAY) on each new HTTP/2 connection, a hundred times. How many requests arrive from a client
// with three retries?
func TestServerThatAlwaysSaysGoodbye(t *testing.T) {
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	ask(t, found{
		retryable: "201; 101 requests",
		failsafe:  "201; 101 requests",
		resilient: "error; 4 requests",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").First(100).Do(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
		return fmt.Sprintf("%s; %d requests", u.order(ctx), len(u.Exchanges()))
	}, httptestx.WithProtocols(http2))
}
