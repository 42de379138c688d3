package contender

import (
	"context"
	"io"
	"net/http"
	"time"

	restyv2 "github.com/go-resty/resty/v2"
	"github.com/gojek/heimdall/v7"
	"github.com/gojek/heimdall/v7/httpclient"
	"github.com/hashicorp/go-retryablehttp"
	"resty.dev/v3"
)

// longest is the cap of the delays between retries.
const longest = 10 * time.Second

func retryable(base http.RoundTripper, timeout time.Duration) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = retries, backoffs, longest
	c.HTTPClient = &http.Client{Transport: base, Timeout: timeout}
	return c
}

func retryableTransport(base http.RoundTripper) http.RoundTripper {
	return &retryablehttp.RoundTripper{Client: retryable(base, 0)}
}

func retryableTimeout(base http.RoundTripper) Do {
	return through(retryable(base, attempt).StandardClient())
}

func heimdallClient(base http.RoundTripper) Do {
	delays := heimdall.NewExponentialBackoff(backoffs, longest, 2, time.Millisecond)
	return through(httpclient.NewClient(
		httpclient.WithRetryCount(retries),
		httpclient.WithRetrier(heimdall.NewRetrier(delays)),
		httpclient.WithHTTPClient(&http.Client{Transport: base, Timeout: attempt}),
	))
}

// restyV2 leaves the body to the caller, as all others do.
func restyV2(base http.RoundTripper) Do {
	c := restyv2.NewWithClient(&http.Client{Transport: base}).
		SetTimeout(total).
		SetRetryCount(retries).SetRetryWaitTime(backoffs).SetRetryMaxWaitTime(longest)
	return func(ctx context.Context, method, url string, body io.Reader) (*http.Response, error) {
		r := c.R().SetContext(ctx).SetDoNotParseResponse(true)
		if body != nil {
			r.SetBody(body)
		}
		resp, err := r.Execute(method, url)
		if err != nil {
			return nil, err
		}
		return resp.RawResponse, nil
	}
}

func restyV3(base http.RoundTripper) Do {
	c := resty.NewWithClient(&http.Client{Transport: base}).
		SetTimeout(total).
		SetRetryCount(retries).SetRetryWaitTime(backoffs).SetRetryMaxWaitTime(longest).
		SetCircuitBreaker(resty.NewCircuitBreakerRatio(failures, minimum, pause))
	return func(ctx context.Context, method, url string, body io.Reader) (*http.Response, error) {
		r := c.R().SetContext(ctx).SetResponseDoNotParse(true)
		if body != nil {
			r.SetBody(body)
		}
		resp, err := r.Execute(method, url)
		if err != nil {
			return nil, err
		}
		return resp.RawResponse, nil
	}
}
