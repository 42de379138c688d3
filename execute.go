package resilient

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/cenkalti/backoff/v5"
)

// A Pipeline is for what is not HTTP: a database, an SDK that brings its own transport. It has the strategies of a
// client, and shares state with the clients of its name. [Builder.BuildPipeline] makes one, [Execute] runs a function
// through it. It is safe for concurrent use.
type Pipeline struct {
	transport *transport
	request   *http.Request // stands for each call where a request is wanted
}

// methodExecute is the method of the request that stands for a function. Nobody knows whether that may be repeated, so
// it is not idempotent.
const methodExecute = "EXECUTE"

// BuildPipeline returns what runs functions with the strategies that Build would give to a client, or every violation
// of a rule, joined. It can't be built around a client, a transport or endpoints.
func (b Builder) BuildPipeline() (*Pipeline, error) {
	b = b.edit(func(d *draft) {
		for setting, given := range map[string]bool{"Client": d.client != nil, "Transport": d.base != nil} {
			if given {
				d.fault(ConfigError{Setting: setting, Rule: "has no meaning for a pipeline, which sends nothing", Fix: "leave it out"})
			}
		}
		d.base = functions{}
	})
	_, transport, err := b.build()
	if err != nil {
		return nil, err
	}
	return &Pipeline{
		transport: transport,
		request:   &http.Request{Method: methodExecute, URL: &url.URL{Scheme: "resilient", Host: "execute"}},
	}, nil
}

// Execute calls f through the pipeline, and again where its error may pass, and returns its result or its last error,
// or an error of the pipeline's own, such as [ErrCircuitOpen], as a client would.
//
// Any error of f may pass, unless [RetryPolicy].RetryIf says otherwise or it is from [backoff.Permanent], whose inner
// error is returned then; [backoff.RetryAfter] says how long to wait. What f had done by the time of an error is not
// known: with [UnprocessedOnly] it is called again only if ctx is [Replayable]. Errors count as failures for the circuit
// breaker, permanent ones do not count at all.
//
// The context of f ends with its attempt. So f must heed it, and have read all that depends on it when it returns.
func Execute[T any](ctx context.Context, p *Pipeline, f func(context.Context) (T, error)) (T, error) {
	var result T
	err := p.run(ctx, func(ctx context.Context) (err error) {
		result, err = f(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// run calls f as Execute does; what f returns besides the error is its own affair.
func (p *Pipeline) run(ctx context.Context, f function) error {
	resp, err := p.transport.RoundTrip(p.request.WithContext(context.WithValue(ctx, functionKey{}, f)))
	if err == nil {
		return resp.Body.Close()
	}
	if final := (*backoff.PermanentError)(nil); errors.As(err, &final) && err == error(final) { //nolint:errorlint // not one within
		return final.Err
	}
	return err
}

type function func(context.Context) error

type functionKey struct{}

// functions is a transport that calls the function of the request's context.
type functions struct{}

func (functions) RoundTrip(r *http.Request) (*http.Response, error) {
	f, _ := r.Context().Value(functionKey{}).(function)
	if err := f(r.Context()); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// opaque reports whether attempts are functions, of which nothing is known but their error.
func opaque(base http.RoundTripper) bool {
	_, ok := base.(functions)
	return ok
}
