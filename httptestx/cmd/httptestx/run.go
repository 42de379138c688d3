package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it could not serve
	exitUsage  = 2 // the flags or the rules are wrong
)

// run serves until ctx ends, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	o := &owner{w: stderr}
	defer o.end()
	defer func() {
		v := recover()
		if message, ok := v.(fatal); ok {
			o.Logf("%s", message)
			code = exitFailed
		} else if v != nil {
			panic(v)
		}
	}()
	c, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		o.Logf("httptestx: %v (-h for help)", err)
		return exitUsage
	}
	srv, err := c.server(o, stdin)
	if err != nil {
		o.Logf("%v", err)
		return exitUsage
	}
	return c.serve(ctx, srv, o, stdout)
}

// server returns a server that is not started yet. The error says what is wrong with the command line.
func (c *config) server(o *owner, stdin io.Reader) (*httptestx.Server, error) {
	var srv *httptestx.Server
	if c.upstream != "" {
		srv = httptestx.NewProxy(o, c.upstream, c.options()...)
	} else {
		srv = httptestx.NewServer(o, http.HandlerFunc(echo), c.options()...)
	}
	if c.idempotent {
		srv.Config.Handler = httptestx.Idempotent(srv.Config.Handler)
	}
	srv.Config.ErrorLog = log.New(o, "httptestx: ", 0)
	if c.cert != "" {
		cert, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return nil, fmt.Errorf("httptestx: -cert and -key: %w", err)
		}
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	return srv, c.load(srv, stdin)
}

// load gives the server its rules.
func (c *config) load(srv *httptestx.Server, stdin io.Reader) error {
	switch c.rules {
	case "":
		return nil
	case "-":
		return srv.LoadRules(stdin)
	}
	f, err := os.Open(c.rules)
	if err != nil {
		return fmt.Errorf("httptestx: %w", err)
	}
	defer f.Close()
	if err := srv.LoadRules(f); err != nil {
		return fmt.Errorf("httptestx: the rules in %s are wrong:\n%w", c.rules, err)
	}
	return nil
}

// serve serves until ctx ends.
func (c *config) serve(ctx context.Context, srv *httptestx.Server, o *owner, stdout io.Writer) int {
	admin, err := c.serveAdmin(srv)
	if err != nil {
		o.Logf("httptestx: -admin: %v", err)
		return exitFailed
	}
	o.Cleanup(func() { admin.Close() })
	if c.tls {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	if !isLoopback(c.listen) {
		o.Logf("httptestx: warning: %s can be reached from other machines; who does can use this server and what is behind it", c.listen)
	}
	if c.admin != "" {
		fmt.Fprintf(stdout, "admin at http://%s\n", admin.Addr)
	}
	fmt.Fprintf(stdout, "serving %s, %s\n", srv.URL, c.protocols())
	<-ctx.Done()
	fmt.Fprintln(stdout, "stopping")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.grace)
	defer cancel()
	if srv.Config.Shutdown(grace) != nil {
		o.Logf("httptestx: after %v requests were still running, and were cut", c.grace)
	}
	return exitOK
}

// serveAdmin starts the server for questions, where one was asked for.
func (c *config) serveAdmin(srv *httptestx.Server) (*http.Server, error) {
	admin := &http.Server{Handler: adminHandler(srv), ReadHeaderTimeout: time.Minute}
	if c.admin == "" {
		return admin, nil
	}
	ln, err := net.Listen("tcp", c.admin)
	if err != nil {
		return nil, err
	}
	admin.Addr = ln.Addr().String()
	go admin.Serve(ln)
	return admin, nil
}
