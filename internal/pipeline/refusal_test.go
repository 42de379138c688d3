package pipeline

import (
	"errors"
	"net"
	"testing"

	"github.com/matryer/is"
)

func TestRefusalsAreToldByTypeOrByTheOneTableOfTexts(t *testing.T) {
	within := func(s string) error {
		return errors.New(cannotRetry + s + cannotRetryEnd + "; define Request.GetBody to avoid this error")
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{streamError{StreamID: 1, Code: refusedStream}, true},
		{streamError{StreamID: 1, Code: 1}, false},
		{streamError{StreamID: 1, Code: 8}, false},
		{within("stream error: stream ID 1; REFUSED_STREAM; received from peer"), true},
		{within("stream error: stream ID 1; PROTOCOL_ERROR; received from peer"), false},
		{within("http2: Transport received Server's graceful shutdown GOAWAY"), true},
		{within("http2: client conn not usable"), true},
		{errors.New("http2: Transport received GOAWAY from server ErrCode:INTERNAL_ERROR"), true},
		{errors.New("http2: client conn could not be established"), true},
		{errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR"), false},
		{errors.New("a proxy says: REFUSED_STREAM; received from peer"), false},
		{errors.New("net/http: cannot rewind body after connection loss"), true},
		{errors.New("EOF"), false},
	} {
		is := is.New(t)
		is.Equal(refused(c.err), c.want) // what the error says about the request
	}
}

// Only the last answer is seen of several sends: an earlier one may have been processed.
func TestRefusalOfAReplayIsNoRefusalOfTheRequest(t *testing.T) {
	is := is.New(t)
	no := streamError{StreamID: 1, Code: refusedStream}
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	is.True(!unwelcome(&net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")})) // that may come at any time
	for sends, want := range []bool{false, true, false} {                                         // untraced, once, twice
		a := &attempt{attemptContext: attemptContext{gear: &gear{}}}
		a.gear.seen.got.Store(int32(sends))
		is.Equal(a.refused(no), want)
		is.Equal(a.refused(alert), want)
	}
}

func TestProxyThatRefusesForGoodIsToldByTheStatusThatItNames(t *testing.T) {
	is := is.New(t)
	for text, want := range map[string]bool{
		"Forbidden": true, "Proxy Authentication Required": true, "Not Found": true, "Method Not Allowed": true,
		"Too Many Requests": false, "Request Timeout": false, "Bad Gateway": false, "Service Unavailable": false,
		"unknown status code": false, "EOF": false, "": false, "forbidden by me": false,
	} {
		is.Equal(barred(errors.New(text)), want) // whether it may pass
	}
}
