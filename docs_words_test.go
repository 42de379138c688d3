package resilient_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// api is the set of all exported names, of a package or with those of types that have them: Builder.Retry.
func api(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	is.New(t).NoErr(err)
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		m := regexp.MustCompile(`^(?:const|func|var|type) (\w+)(?: struct, (?:embedded )?(\w+))?|^method \(\*?(\w+)\) (\w+)`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		owner, member := m[1]+m[3], m[2]+m[4]
		all[owner] = true
		if member != "" {
			all[member], all[owner+"."+member] = true, true
		}
	}
	return all
}

// What a page puts in back quotes with the name of the package is in it.
func TestDocsNameOnlyWhatIsExported(t *testing.T) {
	for name, exported := range map[string]map[string]bool{
		"resilient": api(t, "api/resilient.txt"), "httptestx": api(t, "api/httptestx.txt"),
	} {
		qualified := regexp.MustCompile(`\b` + name + `\.([A-Z]\w*)`)
		for _, p := range pages(t, "docs") {
			for _, s := range p.spans() {
				for _, m := range qualified.FindAllStringSubmatch(s, -1) {
					if !exported[m[1]] {
						t.Errorf("%s: `%s`: there is no %s.%s", p.path, s, name, m[1])
					}
				}
			}
		}
	}
}

// What a page about a strategy has in back quotes, and looks like an exported name, is one of ours or one of these.
func TestDocsOfStrategiesNameOnlyWhatThereIs(t *testing.T) {
	known := api(t, "api/resilient.txt")
	for name := range strings.FieldsSeq(`Builder Config Body Close Location Host GetBody Transport Client Do Is As Idle
		MaxIdleConnsPerHost MaxIdleConns MaxConnsPerHost ResponseHeaderTimeout DefaultTransport DefaultClient Timeout URL CheckRedirect
		BackOff Stop Permanent RoundTripper Request Response Retry-After Goroutines EOF Header NextBackOff WithValue`) {
		known[name] = true
	}
	name := regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*(?:\.[A-Z]\w*)*\b`)
	literal := regexp.MustCompile(`"[^"]*"|[\w-]+-[\w-]+|\b(http|context|errors)\.\w+(\.\w+)?`) // text, a header, what is net/http's
	for _, p := range pages(t, "docs/strategies") {
		for _, s := range p.spans() {
			for _, n := range name.FindAllString(literal.ReplaceAllString(s, ""), -1) {
				for part := range strings.SplitSeq(n, ".") {
					if !known[part] {
						t.Errorf("%s: `%s`: what is %s?", p.path, s, part)
					}
				}
			}
		}
	}
}

// The column "here" in the guides for those who come from elsewhere has only what there is here.
func TestDocsForOthersNameOnlyWhatIsHere(t *testing.T) {
	known := api(t, "api/resilient.txt")
	known["Builder"], known["GetBody"] = true, true
	name, literal := regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*\b`), regexp.MustCompile(`"[^"]*"|[a-z]\w*\.\w+`)
	found := 0
	for _, p := range pages(t, "docs/guides") {
		for _, table := range p.tables() {
			for _, cell := range table.column("here") {
				for _, s := range (page{text: cell}).spans() {
					for _, n := range name.FindAllString(literal.ReplaceAllString(s, ""), -1) {
						if found++; !known[n] {
							t.Errorf("%s: `%s`: what is %s?", p.path, s, n)
						}
					}
				}
			}
		}
	}
	is.New(t).True(found > 60) // they are found
}

// reasonsAndGates are those that a snapshot counts.
func reasonsAndGates(t *testing.T) (reasons, gates []string) {
	t.Helper()
	registry := resilient.NewRegistry()
	resilient.New("x").Registry(registry).MustBuild()
	s := registry.Snapshot()[0]
	return slices.Sorted(maps.Keys(s.RetriesDenied)), slices.Sorted(maps.Keys(s.Rejected))
}

// The pages on retries and on errors list each reason, gate and error, and no other.
func TestDocsListEveryReasonGateAndError(t *testing.T) {
	is := is.New(t)
	reasons, gates := reasonsAndGates(t)
	is.Equal(listed(t, "docs/strategies/retry.md", "reason"), reasons) // why a retry is denied
	is.Equal(listed(t, "docs/guides/errors.md", "gate"), gates)        // what turns calls away
	var errs []string
	for name := range api(t, "api/resilient.txt") {
		if regexp.MustCompile(`^Err[A-Z]\w*$|^\w+Error$`).MatchString(name) {
			errs = append(errs, name)
		}
	}
	slices.Sort(errs)
	is.Equal(listed(t, "docs/guides/errors.md", "error"), errs) // one row each
	code := sources(t)
	for _, text := range listed(t, "docs/guides/errors.md", "text") {
		is.True(strings.Contains(code, text)) // which some code says, and a test
	}
}

// listed are the cells of a column, wherever in the page it is, sorted.
func listed(t *testing.T, path, title string) (cells []string) {
	t.Helper()
	for _, table := range pageAt(t, path).tables() {
		for _, c := range table.column(title) {
			cells = append(cells, strings.TrimPrefix(bare(c), "*"))
		}
	}
	slices.Sort(cells)
	return cells
}

// Words of events and states that the pages on strategies have in back quotes are such.
func TestDocsOfStrategiesHaveTheWordsOfEvents(t *testing.T) {
	reasons, gates := reasonsAndGates(t)
	known := append(append(reasons, gates...), "throttle", "body_idle", "total_timeout", "below_minimum", "enforcing")
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	for _, p := range append(pages(t, "docs/strategies"), pageAt(t, "docs/guides/errors.md")) {
		for _, s := range p.spans() {
			if word.MatchString(s) && !slices.Contains(known, s) {
				t.Errorf("%s: `%s`: no event says that", p.path, s)
			}
		}
	}
}

// A page on a strategy says what it is for, has its settings, a snippet and a picture, and tells what is seen of it, how it
// fails and how it is misused.
func TestDocsOfStrategiesAreComplete(t *testing.T) {
	for _, p := range pages(t, "docs/strategies") {
		if p.path == "docs/strategies/order.md" {
			continue
		}
		for _, part := range []string{
			"**When to use it**", "## Settings\n", "## What you see\n", "## Errors\n", "## Anti-patterns\n", "```go\n", "| None | Standard | Conservative | AI |",
		} {
			if !strings.Contains(p.text, part) {
				t.Errorf("%s lacks %q", p.path, part)
			}
		}
		if len(p.snippets("mermaid"))+len(p.snippets("")) == 0 {
			t.Errorf("%s lacks a picture", p.path)
		}
	}
}

// The order of the stages is written down in pipeline.New. What says it elsewhere says the same.
func TestDocsTellTheOrderOfTheStages(t *testing.T) {
	words := map[string]string{
		"bound": "total timeout", "admitCall": "concurrency limit", "retry": "retry", "route": "endpoint", "limitRate": "rate limit",
		"admitAttempt": "circuit breaker", "boundAttempt": "attempt timeout",
	}
	var order []string
	for _, stage := range stages(t) {
		if words[stage] == "" {
			t.Errorf("pipeline.New has a stage %s: say in doc.go and docs/strategies/order.md where it stands, and here what it is called", stage)
		}
		order = append(order, words[stage])
	}
	doc, err := os.ReadFile("doc.go")
	is.New(t).NoErr(err)
	for name, text := range map[string]string{
		"doc.go":                   between(strings.ReplaceAll(string(doc), "\n// ", " "), "Outermost first:", "transport."),
		"docs/strategies/order.md": between(pageAt(t, "docs/strategies/order.md").text, "## The list", "\n## "),
	} {
		at := -1
		for _, word := range order {
			i := strings.Index(strings.ToLower(text), word)
			if i <= at {
				t.Errorf("%s does not have %q in its place: %v", name, word, order)
			}
			at = i
		}
	}
}

// between is what stands in text from one mark to the next other one.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

// stages are the functions that make the stages in pipeline.New, outermost first.
func stages(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "internal/pipeline/pipeline.go", nil, 0)
	is.New(t).NoErr(err)
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "compose" {
			for _, arg := range call.Args[1:] {
				names = append(names, arg.(*ast.CallExpr).Fun.(*ast.Ident).Name)
			}
		}
		return true
	})
	is.New(t).True(len(names) > 6) // they are found
	return names
}
