package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hookSource becomes a file of net/http.
//
//go:embed hook.go.txt
var hookSource []byte

// extraSource becomes a test file of net/http: promises of net/http that its own tests do not look at.
//
//go:embed extra_test.go.txt
var extraSource []byte

// packages are the folders of the tested packages, below src/net/http, and the package names of their external tests.
var packages = []struct {
	dir, tests  string
	hasTestMain bool
}{
	{"", "http_test", true},
	{"httputil", "httputil_test", false},
	{"httptest", "httptest_test", false},
	{"cookiejar", "cookiejar_test", false},
}

// A patch replaces the one place of a file, below src/net/http, that reads old.
type patch struct{ file, old, replacement string }

// patches are where requests leave for their transport. Client.transport is the one place where a Client gets its own.
var patches = []patch{
	{
		"client.go",
		"	if c.Transport != nil {\n		return c.Transport\n	}\n	return DefaultTransport\n",
		"	if c.Transport != nil {\n		return ConfTransport(c.Transport)\n	}\n	return ConfTransport(DefaultTransport)\n",
	},
	{
		"client.go",
		"	resp, err = rt.RoundTrip(req)\n",
		"	confCount()\n	resp, err = rt.RoundTrip(req)\n",
	},
	{
		"httputil/reverseproxy.go",
		"		transport = http.DefaultTransport\n	}\n",
		"		transport = http.DefaultTransport\n	}\n	transport = http.ConfProxyTransport(transport)\n",
	},
	{
		"main_test.go",
		"	v := m.Run()\n",
		"	v := m.Run()\n	http.ConfReport()\n",
	},
}

// hook puts the wrapper between net/http's clients and their transports.
func hook(goroot string) error {
	for name, source := range map[string][]byte{"conformance_hook.go": hookSource, "conformance_extra_test.go": extraSource} {
		if err := os.WriteFile(filepath.Join(goroot, "src/net/http", name), source, 0o644); err != nil {
			return err
		}
	}
	for _, p := range patches {
		if err := p.apply(filepath.Join(goroot, "src/net/http")); err != nil {
			return err
		}
	}
	return nil
}

func (p patch) apply(dir string) error {
	file := filepath.Join(dir, p.file)
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(source), p.old); n != 1 {
		return fmt.Errorf("%s has %d places that read %q, not one: this Go release needs another patch", file, n, p.old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(source), p.old, p.replacement, 1)), 0o644)
}

// plugIn makes the external tests of each package set the wrapper before they run, and report at their end.
func plugIn(goroot, adapter string) error {
	for _, p := range packages {
		file := filepath.Join(goroot, "src/net/http", p.dir, "conformance_adapter_test.go")
		if err := os.WriteFile(file, []byte(plug(p.tests, adapter, !p.hasTestMain)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func plug(pkg, adapter string, testMain bool) string {
	testing := ""
	if testMain {
		testing = "\t\"testing\"\n"
	}
	source := fmt.Sprintf("package %s\n\nimport (\n\t\"net/http\"\n\t\"os\"\n%s\n\t%q\n)\n\n", pkg, testing, adapter) +
		"func init() { http.ConfWrap = adapter.Wrapper(os.Getenv(\"CONFORMANCE_VARIANT\")) }\n"
	if testMain {
		source += "\nfunc TestMain(m *testing.M) {\n\tcode := m.Run()\n\thttp.ConfReport()\n\tos.Exit(code)\n}\n"
	}
	return source
}
