package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A rule allows a test, and what is below it, to fail.
type rule struct {
	test   string // id
	always bool   // it is a mistake if that passes
}

// covers reports whether the rule is about the test.
func (r rule) covers(id string) bool { return id == r.test || strings.HasPrefix(id, r.test+"/") }

// allows reports whether one of the rules is about the test.
func allows(rules []rule, id string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.covers(id) })
}

// loadRules reads the rules of a variant from a file.
func loadRules(file, variant string) ([]rule, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, err := parseRules(string(b), variant)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rules, nil
}

// parseRules reads lines of four fields: variant (or both), test, always or sometimes, reason. Lines that begin with # are
// comments.
func parseRules(text, variant string) ([]rule, error) {
	var rules []rule
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || fields[3] == "" {
			return nil, fmt.Errorf("line %d: not the four fields variant, test, always or sometimes, reason", number)
		}
		if fields[2] != "always" && fields[2] != "sometimes" {
			return nil, fmt.Errorf("line %d: %q is neither always nor sometimes", number, fields[2])
		}
		if fields[0] == variant || fields[0] == "both" {
			rules = append(rules, rule{test: fields[1], always: fields[2] == "always"})
		}
	}
	return rules, nil
}
