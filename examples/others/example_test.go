package others_test

import (
	"fmt"
	"strings"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// noTest is what a server needs of a test, where there is none. In a test it is t.
type noTest struct{ cleanups []func() }

func (*noTest) Helper()                           {}
func (*noTest) Logf(string, ...any)               {}
func (t *noTest) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (*noTest) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (*noTest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// An order was taken, and the answer is lost. The client sends the order again, and nobody but the server knows.
func Example() {
	t := &noTest{}
	s := httptestx.NewServer(t, shop(), httptestx.WithSeed(1))
	s.On("POST /orders").Script(httptestx.LostResponse)

	client := retryable(s.Client().Transport)
	resp, err := client.Post(s.URL+"/orders", "application/json", strings.NewReader(`{"book": 1}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println("the caller hears:", resp.Status)

	var lines []string
	for _, x := range s.Exchanges() {
		lines = append(lines, fmt.Sprintf("request %d: %v, order taken: %t, %v", x.Seq, x.Plan, x.Handled, x.End))
	}
	fmt.Println(strings.Join(lines, "\n"))
	for _, f := range t.cleanups {
		f()
	}
	// Output:
	// the caller hears: 201 Created
	// request 1: [handle reset], order taken: true, reset
	// request 2: [handle], order taken: true, answered
}
