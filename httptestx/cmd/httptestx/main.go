// Command httptestx serves HTTP and misbehaves as the rules in a JSON document say, alone or in front
// of a real server, for tests in any language and for staging environments.
//
//	httptestx rules.json
//	httptestx -upstream http://127.0.0.1:9000 -admin 127.0.0.1:8474 rules.json
//
// Alone it answers with what it was asked, as JSON. "httptestx -h" lists the flags; the guide in
// docs/guides/testing.md describes the rules.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
