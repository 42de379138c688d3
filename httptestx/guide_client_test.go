package httptestx_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestGuideResilientClient(t *testing.T) {
	handler, body := place, strings.NewReader("{}")
	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Script(httptestx.LostResponse)
	client := resilient.New("orders").Defaults(resilient.Conservative).
		Transport(srv.Client().Transport).
		Registry(resilient.NewRegistry()).
		MustBuild()
	_, err := client.Post(srv.URL+"/orders", "application/json", body)
	if err == nil {
		t.Error("the answer was lost, and the client has one")
	}
	httptestx.AtMostOnce(t, srv) // it was not sent again

	is := is.New(t)
	is.Equal(errWords(err), "read: connection reset by peer") // the error as it was
	is.Equal(len(srv.Exchanges()), 1)                         // one request
}

func TestRetryWaitsAsLongAsTheServerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, handler) // inside of the bubble
		srv.On("GET /items").Script(httptestx.Unavailable(7 * time.Second))
		client := resilient.New("inventory").Defaults(resilient.Conservative).
			Transport(srv.Client().Transport).
			Registry(resilient.NewRegistry()).
			MustBuild()
		began := time.Now()
		resp, err := client.Get(srv.URL + "/items")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if took := time.Since(began); resp.StatusCode != 200 || took != 7*time.Second {
			t.Errorf("%d after %v", resp.StatusCode, took)
		}
	})
}

// What a client without Transport looks up is a name that is in no network: .test is reserved (RFC 6761).
func TestGuideNameOfTheServer(t *testing.T) {
	srv := httptestx.NewServer(t, handler)
	is.New(t).Equal(srv.URL, "http://httptestx.test") // as in the error that the guide shows
}
