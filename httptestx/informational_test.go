package httptestx_test

import (
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// informed sends a POST with a small body and returns the informational
// responses and the final one.
func informed(t *testing.T, tr http.RoundTripper, srv *httptestx.Server, header ...string) (infos []string, resp *http.Response, err error) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			infos = append(infos, fmt.Sprint(code, h))
			return nil
		},
	})
	req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL, strings.NewReader("order"))
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err = tr.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return infos, resp, err
}

func TestInformationalResponsesComeBeforeTheAnswer(t *testing.T) {
	for name, end := range map[string][]httptestx.Step{
		"streamed": {httptestx.Handle},
		"held":     {httptestx.Handle, httptestx.Delay(0)},
		"status":   {httptestx.Status(201)},
	} {
		t.Run(name, func(t *testing.T) {
			onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
				is := is.New(t)
				srv.On("/").Do(append(httptestx.Plan(
					httptestx.Informational(102),
					httptestx.Informational(103, "Link", "</a>", "Link", "</b>"),
				), end...)...)
				infos, resp, err := informed(t, srv.Client().Transport, srv)
				is.NoErr(err)                                                       // answered
				is.Equal(infos, []string{"102 map[]", "103 map[Link:[</a> </b>]]"}) // in turn, with their headers
				is.Equal(resp.StatusCode, 201)                                      // then the answer
				is.Equal(resp.Header["Link"], nil)                                  // which does not repeat them
				x := srv.Exchanges()[0]
				is.Equal(x.Status, 201)                  // the final status is what counts
				is.Equal(x.Sent, httptestx.SentComplete) // all was sent
			})
		})
	}
}

func TestInformationalResponseIsAllThatWasSent(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Handle, httptestx.Informational(103), httptestx.Close)
		infos, _, err := informed(t, srv.Client().Transport, srv)
		is.True(err != nil)                    // no answer
		is.Equal(infos, []string{"103 map[]"}) // but a sign of life
		x := srv.Wait(1)[0]
		is.Equal(x.Sent, httptestx.SentInfo) // as recorded
		is.Equal(x.Status, 0)                // no status was sent
		is.True(x.Handled)                   // processed
	})
}

func TestContinueMakesTheClientSendItsBody(t *testing.T) {
	onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("/").Do(httptestx.Informational(100), httptestx.Read, httptestx.Status(503))
		tr := &http.Transport{DialContext: srv.DialContext, ExpectContinueTimeout: time.Hour}
		defer tr.CloseIdleConnections()
		infos, resp, err := informed(t, tr, srv, "Expect", "100-continue")
		is.NoErr(err)                          // answered
		is.Equal(infos, []string{"100 map[]"}) // asked once
		is.Equal(resp.StatusCode, 503)         // refused after all
		x := srv.Wait(1)[0]
		is.Equal(string(x.Body), "order")        // with the body read
		is.Equal(x.Read, httptestx.ReadComplete) // all of it
	})
}
