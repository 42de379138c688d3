// Command quota shows what a client does with a quota of tokens: twenty callers share two deployments of a model, and
// one of them loses nine tenths of its capacity for two minutes. It runs twice, with what an SDK does by itself and with
// this library. Ten minutes pass in a second or so, for the time is virtual.
//
// Callers that ask until they are refused get the last token of every minute, and wait for the next minute together. A
// client that keeps below the quota leaves a few tokens in the hundred; nobody fails, and nobody waits for long.
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
	fmt.Fprintf(out, `%d callers ask one question after the other, for %d minutes. Two deployments, "east" and "west", take %d tokens
a minute each and refuse what is more; "west" has a tenth of that from minute %d to %d.

  SDK        as SDKs come: a caller's client has one deployment, and asks up to three times when it is refused
  resilient  one client for all callers, with a rate limit just below the quota, and both deployments

`, callers, minutes, quota, lossFrom, lossTo)
	compare(out, sdk, ours)
	fmt.Fprint(out, `
The price is a few calls and a little time on average: resilient stays below the quota, to be refused less and to spread
the waits, where SDK spends the last token of every minute, and then has some callers wait for the next.
`)
	fmt.Fprintf(out, "\nTokens asked for, minute by minute; what is marked with ! is more than the deployment had to give. When\n"+
		"\"west\" has lost its capacity resilient learns so by a refusal, and leaves it alone until the minute is over.\n")
	byMinute(out, "SDK", sdk)
	byMinute(out, "resilient", ours)
	fmt.Fprintf(out, "\nIt must hold, or this fails, that\n")
	for _, c := range claims(sdk, ours) {
		fmt.Fprintf(out, "- %s\n", c.text)
		if !c.held {
			t.Errorf("it is not true that %s", c.text)
		}
	}
}

// compare prints a row for each figure.
func compare(out io.Writer, sdk, ours result) {
	fmt.Fprintf(out, "%-42s %10s %10s\n", "", "SDK", "resilient")
	row := func(what string, of func(result) string) {
		fmt.Fprintf(out, "%-42s %10s %10s\n", what, of(sdk), of(ours))
	}
	row("calls that succeeded", func(r result) string { return fmt.Sprint(r.succeeded) })
	row("calls that failed", func(r result) string { return fmt.Sprint(r.failed) })
	row("requests refused with 429", func(r result) string { return fmt.Sprint(r.refused) })
	row("tokens used, of all that there were", func(r result) string { return fmt.Sprintf("%.0f %%", 100*r.used) })
	row("a call takes, on average", func(r result) string { return r.mean.String() })
	row("95 of 100 calls take no longer than", func(r result) string { return r.p95.String() })
}

// byMinute prints what a client asked of each deployment.
func byMinute(out io.Writer, who string, r result) {
	for i, name := range []string{"east", "west"} {
		d := r.deployments[i]
		fmt.Fprintf(out, "%-9s  %s", who, name)
		for m := range minutes {
			mark := " "
			if d.asked[m] > d.allowed(m) {
				mark = "!"
			}
			fmt.Fprintf(out, " %6d%s", d.asked[m], mark)
		}
		fmt.Fprintln(out)
	}
}

// A claim is what the figures are to show.
type claim struct {
	text string
	held bool
}

func claims(sdk, ours result) []claim {
	return []claim{
		{"resilient never asks a deployment that has its whole capacity for more than its quota, in any minute", ours.most <= 1},
		{"no call of resilient fails", ours.failed == 0},
		{"fewer of its requests are refused", ours.refused < sdk.refused},
		{"its slowest twentieth takes less than half as long", 2*ours.p95 < sdk.p95},
	}
}
