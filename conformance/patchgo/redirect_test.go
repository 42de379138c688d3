package main

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"testing"

	"github.com/matryer/is"
)

func TestCallsOfTransportsAreRedirected(t *testing.T) {
	const before = `package http_test

import . "net/http"

func TestX(t *testing.T) {
	tr := &Transport{}
	go func() { tr.CancelRequest(req) }()
	res, err := tr.RoundTrip(req)
	client.Do(req)
}

type double struct{ tr RoundTripper }

func (d double) RoundTrip(req *Request) (*Response, error) { return d.tr.RoundTrip(req) }
`
	const after = `package http_test

import . "net/http"

func TestX(t *testing.T) {
	tr := &Transport{}
	go func() { ConfCanceler(tr).CancelRequest(req) }()
	res, err := ConfRoundTripper(tr).RoundTrip(req)
	client.Do(req)
}

type double struct{ tr RoundTripper }

func (d double) RoundTrip(req *Request) (*Response, error) { return d.tr.RoundTrip(req) }
`
	is := is.New(t)
	found := map[string]int{}
	got, err := redirect("x_test.go", []byte(before), found)
	is.NoErr(err)                                                       // the source is valid
	is.Equal(string(got), after)                                        // both calls in the test, and not the one in the double
	is.Equal(found, map[string]int{"RoundTrip": 1, "CancelRequest": 1}) // they are counted
}

func TestRedirectionFollowsTheNameOfTheImport(t *testing.T) {
	for name, want := range map[string]string{
		`package http; `:                           "ConfRoundTripper(",
		`package x; import "net/http"; `:           "http.ConfRoundTripper(",
		`package x; import web "net/http"; `:       "web.ConfRoundTripper(",
		`package x; import . "net/http"; `:         "ConfRoundTripper(",
		`package x; import ("os"; "net/http"); `:   "http.ConfRoundTripper(",
		`package x; import _ "net/http/httptest";`: "",
	} {
		is := is.New(t)
		got, err := redirect("x_test.go", []byte(name+"func f() { tr.RoundTrip(req) }"), map[string]int{})
		if want == "" {
			is.True(err != nil) // such a call without net/http is something else
			continue
		}
		is.NoErr(err)                                                         // the source is valid
		is.Equal(string(got), name+"func f() { "+want+"tr).RoundTrip(req) }") // qualified as the file does
	}
}

func TestAddedSourcesAreFormatted(t *testing.T) {
	for name, source := range map[string][]byte{
		"hook":                  hookSource,
		"extra":                 extraSource,
		"plug with a TestMain":  []byte(plug("x_test", "example.com/adapter", true)),
		"plug without TestMain": []byte(plug("x_test", "example.com/adapter", false)),
	} {
		is := is.New(t)
		_, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		is.NoErr(err) // it is Go
		formatted, err := format.Source(source)
		is.NoErr(err)                           // it is Go
		is.True(bytes.Equal(source, formatted)) // as gofmt would write it
	}
}
