package resilient_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/matryer/is"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?)\s*$`)
)

// A link within the repository leads to a file that is there, and to a heading that it has.
func TestDocsLinksLeadSomewhere(t *testing.T) {
	wantRepository(t)
	found := 0
	for _, p := range pages(t, ".") {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			if err := p.follow(m[1]); err != nil {
				t.Errorf("%s: %v", p.path, err)
			}
		}
	}
	is.New(t).True(found > 50) // they are found
}

func (p page) follow(target string) error {
	file, anchor, _ := strings.Cut(target, "#")
	to := p.path
	if file != "" {
		to = path.Join(path.Dir(p.path), file)
	}
	info, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("(%s) leads nowhere", target)
	}
	if anchor == "" {
		return nil
	}
	if info.IsDir() || path.Ext(to) != ".md" {
		return fmt.Errorf("(%s) names a heading of what has none", target)
	}
	text, err := os.ReadFile(to)
	if err == nil && !anchors(page{to, string(text)})[anchor] {
		err = fmt.Errorf("(%s): no heading has that anchor", target)
	}
	return err
}

// anchors are those of the headings, as GitHub makes them.
func anchors(p page) map[string]bool {
	all, times := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(p.prose(), -1) {
		a := anchorOf(m[1])
		if n := times[a]; n > 0 {
			all[fmt.Sprintf("%s-%d", a, n)] = true
		}
		times[a]++
		all[a] = true
	}
	return all
}

func anchorOf(title string) string {
	title = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// Every page can be found from the index.
func TestDocsIndexHasEveryPage(t *testing.T) {
	linked := map[string]bool{}
	for _, m := range link.FindAllStringSubmatch(pageAt(t, "docs/README.md").prose(), -1) {
		file, _, _ := strings.Cut(m[1], "#")
		linked[path.Join("docs", file)] = true
	}
	for _, p := range append(append(pages(t, "docs/strategies"), pages(t, "docs/guides")...), pages(t, "docs/evidence")...) {
		if !linked[p.path] {
			t.Errorf("docs/README.md has no link to %s", p.path)
		}
	}
}
