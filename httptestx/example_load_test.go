package httptestx_test

import (
	"fmt"
	"strings"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// Rules can be data, in a file for instance. They are read strictly.
func ExampleServer_LoadRules() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	err := srv.LoadRules(strings.NewReader(`{"rules": [
		{"on": "GET /", "script": ["lostresponse", {"unavailable": "30s"}, [{"delay": "1ms"}, "handle"]]}
	]}`))
	fmt.Println(err)
	for range 3 {
		fmt.Println(get(srv))
	}

	err = srv.LoadRules(strings.NewReader(`{"rules": [
		{"on": "GET /", "nth": [0], "do": ["handel"]},
		{"on": "GET /", "prob": 2, "do": "lostresponse"}
	]}`))
	for _, line := range strings.Split(err.Error(), "\n") {
		line, _, _ = strings.Cut(line, ";")
		fmt.Println(line)
	}
	// Output:
	// <nil>
	// read: connection reset by peer
	// 503 "Service Unavailable"
	// 200 "hello"
	// httptestx: line 2: rules[0].nth: requests are counted from 1, is [0]
	// httptestx: line 2: rules[0].do[0]: there is no step "handel"
	// httptestx: line 3: rules[1].prob: p must be 0 to 1, is 2
}

// A test of several parts can begin each of them with a server that knows nothing.
func ExampleServer_Forget() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("GET /").First(1).Do(httptestx.Unavailable(0)...)
	for range 2 {
		fmt.Println(get(srv))
		srv.Forget()
	}
	fmt.Println(len(srv.Exchanges()), "exchanges")
	// Output:
	// 503 "Service Unavailable"
	// 503 "Service Unavailable"
	// 0 exchanges
}
