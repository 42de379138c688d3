package main

import (
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	is.New(t).NoErr(os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func TestCommandLineThatIsWrongIsToldInALine(t *testing.T) {
	for args, want := range map[string]string{
		"-lisen :1":                "flag provided but not defined: -lisen",
		"-listen 8080":             `-listen "8080": want host:port`,
		"-seed x":                  `invalid value "x" for flag -seed: parse error`,
		"a.json b.json":            `one file of rules at most, and flags before it; got ["a.json" "b.json"]`,
		"a.json -tls":              `one file of rules at most, and flags before it; got ["a.json" "-tls"]`,
		"-cert a.pem":              "-cert and -key need each other",
		"-http1 -http2":            "-http1 is HTTP/1.1 only: leave out -http2 and -h2c",
		"-http1 -h2c":              "-http1 is HTTP/1.1 only: leave out -http2 and -h2c",
		"-tls -h2c":                "-h2c is for cleartext: leave it out, HTTP/2 is served with TLS anyway",
		"-admin 0.0.0.0:8474":      "-admin 0.0.0.0:8474: not a loopback address; whoever reaches it controls the server",
		"-admin example.com:8474":  "-admin example.com:8474: not a loopback address; whoever reaches it controls the server",
		"-upstream localhost:9000": `-upstream "localhost:9000": want a URL such as http://127.0.0.1:9000`,
		"-upstream http://":        `-upstream "http://": want a URL such as http://127.0.0.1:9000`,
	} {
		is := is.New(t)
		code, stdout, stderr := usageOf(t, "", strings.Fields(args)...)
		is.Equal(stderr, "httptestx: "+want+" (-h for help)\n") // what is wrong, and no more
		is.Equal(code, exitUsage)                               // not the code of a server that failed
		is.Equal(stdout, "")                                    // what is wrong is not what was asked for
	}
}

func TestRulesThatAreWrongAreToldByLine(t *testing.T) {
	is := is.New(t)
	name := file(t, "{\"rules\": [\n{\"on\": \"/\", \"do\": [\"rest\"]},\n{\"conn\": true, \"do\": [\"nosuchhost\"]}]}")
	code, _, stderr := usageOf(t, "", "-listen", "127.0.0.1:0", name)
	lines := strings.Split(stderr, "\n")
	is.Equal(lines[0], "httptestx: the rules in "+name+" are wrong:")                                  // in which file
	is.True(strings.HasPrefix(lines[1], `httptestx: line 2: rules[0].do[0]: there is no step "rest"`)) // where
	is.True(strings.Contains(lines[2], "line 3: rules[1].do[0]: nosuchhost cannot be done"))           // all of them
	is.Equal(code, exitUsage)

	code, _, stderr = usageOf(t, "{", "-")
	is.Equal(stderr, "httptestx: line 1: unexpected end of JSON input\n") // from standard input
	is.Equal(code, exitUsage)
	code, _, stderr = usageOf(t, "", filepath.Join(t.TempDir(), "none.json"))
	is.True(strings.Contains(stderr, "none.json: no such file")) // no file
	is.Equal(code, exitUsage)
	code, _, _ = usageOf(t, "", "-cert", name, "-key", name)
	is.Equal(code, exitUsage) // no certificate
}

func TestAddressThatIsTakenIsAFailure(t *testing.T) {
	is := is.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer ln.Close()
	taken := ln.Addr().String()
	code, _, stderr := usageOf(t, "", "-listen", taken)
	is.True(strings.Contains(stderr, "address already in use") && !strings.Contains(stderr, "goroutine")) // in a line
	is.Equal(code, exitFailed)                                                                            // it could not serve
	code, _, stderr = usageOf(t, "", "-listen", "127.0.0.1:0", "-admin", taken)
	is.True(strings.HasPrefix(stderr, "httptestx: -admin: ")) // which of the two
	is.Equal(code, exitFailed)
}

func TestHelpExplainsWithExamples(t *testing.T) {
	is := is.New(t)
	code, stdout, stderr := usageOf(t, "", "-h")
	is.Equal(code, exitOK) // it is what was asked for
	is.Equal(stderr, "")   // and nothing is wrong
	_, examples, _ := strings.Cut(stdout, "Examples:\n")
	examples, rules, _ := strings.Cut(examples, "rules.json:\n")
	rules, flags, _ := strings.Cut(rules, "Flags:\n")
	for _, line := range strings.Split(examples, "\n") {
		if args, ok := strings.CutPrefix(line, "  httptestx "); ok {
			_, err := parse(strings.Fields(args), io.Discard)
			is.NoErr(err) // each example can be typed
		}
	}
	is.NoErr(httptestx.NewServer(t, nil).LoadRules(strings.NewReader(rules))) // so can the rules
	(&config{}).flags().VisitAll(func(f *flag.Flag) {
		is.True(strings.Contains(flags, "  -"+f.Name)) // each flag is there
	})
	_, err := parse([]string{"-h"}, io.Discard)
	is.True(errors.Is(err, flag.ErrHelp)) // and no server
}

func TestGuideShowsCommandLinesThatCanBeTyped(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile("../../../docs/guides/testing.md")
	is.NoErr(err) // it is there
	shown := 0
	for _, line := range strings.Split(string(guide), "\n") {
		if args, ok := strings.CutPrefix(line, "httptestx "); ok && strings.HasSuffix(line, ".json") {
			_, err := parse(strings.Fields(args), io.Discard)
			is.NoErr(err) // it is no mistake
			shown++
		}
	}
	is.Equal(shown, 4) // none is missed
	for _, path := range []string{"/exchanges", "/ledger", "/rules", "/reset", "/ca.pem"} {
		is.True(strings.Contains(string(guide), "http://127.0.0.1:8474"+path) && strings.Contains(adminHelp, path)) // what the admin has is told in both places
	}
}

func TestWithoutAHostItIsTheLoopbackAddress(t *testing.T) {
	is := is.New(t)
	c, err := parse([]string{"-listen", ":9090", "-admin", ":8474"}, io.Discard)
	is.NoErr(err)
	is.Equal([]string{c.listen, c.admin}, []string{"127.0.0.1:9090", "127.0.0.1:8474"}) // not all of them
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true, "localhost": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "example.com:1": false, "localhost.example.com": false,
	} {
		is.Equal(isLoopback(addr), want) // who can reach it
	}
}

func TestAddressThatOthersReachIsWarnedOf(t *testing.T) {
	for addr, warned := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		is := is.New(t)
		_, stderr := start(t, "", "-listen", addr).stop()
		is.Equal(strings.HasPrefix(stderr, "httptestx: warning: "+addr+" can be reached from other machines"), warned) // once, in a line
		is.Equal(strings.Count(stderr, "\n") == 1, warned)                                                             // and no more is said
	}
}
