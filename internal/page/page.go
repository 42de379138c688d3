// Package page is the page that the registry's handler shows: one HTML document with its style and its script in it. All
// that changes comes as JSON, and the script writes it as text, so there is nothing to be escaped here.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the parts
	"encoding/base64"
	"slices"
)

//go:embed page.html
var markup []byte

//go:embed page.css
var style []byte

//go:embed plot.js
var plot []byte

//go:embed detail.js
var detail []byte

//go:embed page.js
var list []byte

// Build returns the document, and the Content-Security-Policy to serve it with, which permits its own style and script by
// their hashes, requests to where it came from, and nothing else.
func Build() (document []byte, policy string) {
	script := slices.Concat(plot, detail, list)
	document = bytes.Replace(markup, []byte("/* style */"), style, 1)
	document = bytes.Replace(document, []byte("/* script */"), script, 1)
	return document, "default-src 'none'; connect-src 'self'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script) +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hash(part []byte) string {
	sum := sha256.Sum256(part)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
