// Package others points httptestx at other people's clients. Each test is what their users would write to find out
// what becomes of an order; its output is what was found with the versions in go.mod.
package others
