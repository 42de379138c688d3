package resilient

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// asResponse turns a refusal into the response that a server would give that is too busy. All other errors stay.
func asResponse(req *http.Request, err error) (*http.Response, error) {
	rejected, ok := err.(*RejectedError) //nolint:errorlint // one within is what a call has met that ended for another reason
	if !ok {
		return nil, err
	}
	status := http.StatusServiceUnavailable
	if rejected.Gate == pipeline.GateRate.String() {
		status = http.StatusTooManyRequests
	}
	body := rejectionBody(rejected)
	header := http.Header{
		"Content-Type":   {"application/json"},
		"Content-Length": {strconv.Itoa(len(body))},
		"X-Should-Retry": {"false"}, // the SDKs of OpenAI and Anthropic would ask again at once
	}
	if rejected.RetryAfter > 0 {
		rounded := (rejected.RetryAfter-1)/time.Second + 1
		header.Set("Retry-After", strconv.FormatInt(int64(rounded), 10))
	}
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: req,
	}, nil
}

// rejectionBody has the form in which AI services tell of errors, which their SDKs show.
func rejectionBody(r *RejectedError) []byte {
	type problem struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	}
	body, _ := json.Marshal(map[string]problem{"error": {Message: r.Error(), Type: "rejected", Code: r.Gate}})
	return body
}
