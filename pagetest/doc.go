// Package pagetest opens the page of a registry in a real browser, Debian's chromium, and looks at what people would see. It
// is a module of its own, so that a user of the library downloads nothing for it.
//
// The tests run where RESILIENT_PAGE is 1, as in the stage page of .ci/run. They leave screenshots in build/page, at the top
// of the repository.
package pagetest
