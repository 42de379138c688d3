// Command page serves the page of a registry on loopback, with a dozen clients whose dependencies misbehave, each in its
// own way. Open the address that it prints, and see whether the page tells you why each of them is not retrying.
//
//	go run ./examples/page            # ends after ten minutes
//	go run ./examples/page -for 1h -isolate
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen; port 0 takes one that is free")
	length := flag.Duration("for", 10*time.Minute, "how long to run")
	isolate := flag.Bool("isolate", false, "allow to isolate and release breakers on the page")
	more := flag.Int("more", 0, "how many clients more there are, to whom nothing happens")
	flag.Parse()

	var options []resilient.HandlerOption
	if *isolate {
		options = append(options, resilient.AllowIsolation)
	}
	if err := run(*address, *length, *more, options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string, length time.Duration, more int, options []resilient.HandlerOption) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	registry := resilient.NewRegistry()
	handler := registry.Handler(options...)
	if err := misbehave(ctx, registry, more); err != nil {
		return err
	}
	return serve(ctx, address, handler, os.Stdout)
}

// serve shows the handler at an address until the time is over.
func serve(ctx context.Context, address string, handler http.Handler, out io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/resilient", handler)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Fprintf(out, "http://%s/debug/resilient\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
