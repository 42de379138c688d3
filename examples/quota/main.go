// Command quota shows what a client does with a quota of tokens: twenty callers share two deployments of a model, and
// one of them loses nine tenths of its capacity for two minutes. It runs twice, with what an SDK does by itself and with
// this library. Ten minutes pass in a second or so, for the time is virtual.
//
// Who asks until he is refused gets the last token of every minute, and lets others wait for the next. Who keeps below the
// quota leaves a few tokens in the hundred, and nobody fails or waits for long.
//
//	go run ./examples/quota
package main

import (
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
)

// main runs it as a test, for synctest, whose time is virtual, belongs to tests.
func main() {
	any := func(string, string) (bool, error) { return true, nil }
	testing.Main(any, []testing.InternalTest{{Name: "quota", F: func(t *testing.T) { run(t, os.Stdout) }}}, nil, nil)
}

// run plays the scenario with both kinds of clients, and fails if what is claimed below does not hold.
func run(t *testing.T, out io.Writer) {
	var sdk, ours result
	synctest.Test(t, func(t *testing.T) { sdk = play(t, likeAnSDK) })
	synctest.Test(t, func(t *testing.T) { ours = play(t, resilientClients) })
	fmt.Fprintf(out, "%d callers, %d minutes, two deployments of %d tokens a minute each;\n"+
		"\"west\" has a tenth of that from minute %d to %d.\n\n", callers, minutes, quota, lossFrom, lossTo)
	fmt.Fprintf(out, "%-34s %14s %14s\n", "", "SDK's retries", "resilient")
	row := func(what string, of func(result) string) {
		fmt.Fprintf(out, "%-34s %14s %14s\n", what, of(sdk), of(ours))
	}
	row("calls that succeeded", func(r result) string { return fmt.Sprint(r.succeeded) })
	row("calls that failed", func(r result) string { return fmt.Sprint(r.failed) })
	row("requests refused with 429", func(r result) string { return fmt.Sprint(r.refused) })
	row("most tokens in a minute, of a quota", func(r result) string { return fmt.Sprintf("%.0f %%", 100*r.most) })
	row("tokens used, of all there were", func(r result) string { return fmt.Sprintf("%.0f %%", 100*r.used) })
	row("wait of a call, mean", func(r result) string { return r.mean.String() })
	row("wait of a call, 95 of 100 within", func(r result) string { return r.p95.String() })
	for claim, held := range map[string]bool{
		"no deployment with its whole capacity was asked for more in any minute": ours.most <= 1,
		"no call failed":                                      ours.failed == 0,
		"fewer requests were refused":                         ours.refused < sdk.refused,
		"the slowest twentieth waited less than half as long": 2*ours.p95 < sdk.p95,
	} {
		if !held {
			t.Errorf("it is not true that %s", claim)
		}
	}
}
