package resilient_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// Each Go snippet of the docs is a part of a file that is compiled somewhere in the repository, or compiles by itself:
// as a file, as declarations, or as the inside of a function.
func TestDocsSnippetsCompile(t *testing.T) {
	wantRepository(t)
	c := newCompiler(t)
	code := sources(t)
	found := 0
	for _, p := range pages(t, "docs") {
		for _, s := range p.snippets("go") {
			found++
			if strings.Contains(code, flat(s)) {
				continue
			}
			if err := c.compile(s, given(p)); err != nil {
				t.Errorf("%s: %v in\n%s(show what some .go file has word for word, or declare what is missing: <!-- given: var x T -->)", p.path, err, s)
			}
		}
	}
	is.New(t).True(found > 20) // they are found
}

// A snippet that would not compile is told of, and one that leaves things unused is not.
func TestSnippetsAreReallyCompiled(t *testing.T) {
	wantRepository(t)
	is := is.New(t)
	c := newCompiler(t)
	is.NoErr(c.compile("client, err := resilient.New(\"x\").Build()\nif err != nil {\n\treturn err\n}", ""))
	is.NoErr(c.compile("func f(ctx context.Context) { resp, _ := client.Do(req.WithContext(ctx)) }", ""))
	is.True(c.compile("resilient.New(\"x\").Retries(3)", "") != nil)                            // no such method
	is.True(c.compile("client.Timeout = 5", "") == nil)                                         // a constant is any number
	is.True(c.compile("client.Timeout = \"5s\"", "") != nil)                                    // text is not
	is.True(c.compile("resilient.New(\"x\").Defaults(preset)", "") != nil)                      // nobody has given it
	is.NoErr(c.compile("resilient.New(\"x\").Defaults(preset)", "var preset resilient.Preset")) // a comment has
}

var gives = regexp.MustCompile(`<!-- given: (.*) -->`)

// given is what a page declares for its snippets in comments: <!-- given: var order io.Reader -->.
func given(p page) (declarations string) {
	for _, m := range gives.FindAllStringSubmatch(p.text, -1) {
		declarations += m[1] + "\n"
	}
	return declarations
}

// sources is all Go code of the repository, with single spaces.
func sources(t *testing.T) string {
	var all strings.Builder
	for _, path := range filesBelow(t, ".", ".go") {
		text, err := os.ReadFile(path)
		is.New(t).NoErr(err)
		all.WriteString(flat(string(text)) + "\n")
	}
	return all.String()
}

// What snippets may use without saying so.
const (
	usual = "bytes context encoding/json errors fmt io log log/slog net/http os strings sync testing testing/synctest time " +
		"github.com/cenkalti/backoff/v5 github.com/jonboulle/clockwork " +
		"github.com/a-seed-e0941262/resilient github.com/a-seed-e0941262/resilient/httptestx"
	names = `
var (
	ctx       context.Context
	client    *http.Client
	existing  *http.Client
	req       *http.Request
	r         *http.Request
	url       string
	body      io.Reader
	handler   http.Handler
	registry  *resilient.Registry
	document  []byte
	err       error
	t         *testing.T
)
`
)

// A compiler checks types against what the go command has compiled.
type compiler struct {
	files    *token.FileSet
	importer types.Importer
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./..."}, strings.Fields(usual)...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	is.New(t).NoErr(err) // the go command that runs the tests
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	files := token.NewFileSet()
	return &compiler{files, importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		data, err := os.ReadFile(exports[path])
		return io.NopCloser(bytes.NewReader(data)), err
	})}
}

// compile returns what is wrong with a snippet whichever way it is taken, or nil.
func (c *compiler) compile(snippet, given string) (err error) {
	if strings.HasPrefix(snippet, "package ") {
		return c.check(snippet)
	}
	var imports strings.Builder
	for path := range strings.FieldsSeq(usual) {
		fmt.Fprintf(&imports, "import %q\n", path)
	}
	head := "package p\n" + imports.String()
	if own, ok := strings.CutPrefix(snippet, "import "); ok { // its own imports, declarations below
		return c.check("package p\nimport " + own)
	}
	tail := names + given + "\n"
	for _, form := range []string{"%s\n", "func _() {\n%s\n}\n", "func _() error {\n%s\n}\n"} {
		if err = c.check(head + tail + fmt.Sprintf(form, snippet)); err == nil {
			return nil
		}
	}
	return err
}

func (c *compiler) check(source string) error {
	file, err := parser.ParseFile(c.files, "snippet.go", source, 0)
	if err != nil {
		return err
	}
	var wrong error
	config := types.Config{Importer: c.importer, Error: func(err error) {
		e, ok := err.(types.Error) //nolint:errorlint // it is one
		if ok && (e.Soft || e.Msg == "missing return") {
			return // something is unused, or the rest is not shown
		}
		if wrong == nil {
			wrong = err
		}
	}}
	_, _ = config.Check("p", c.files, []*ast.File{file}, nil)
	return wrong
}
