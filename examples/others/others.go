// Package others points httptestx at other people's clients. Each test is a question that their users would ask, and the
// answer that a run shows for each client, with the versions in go.mod. docs/guides/testing-other-clients.md has the
// answers as a table, and the tests compare it.
package others
