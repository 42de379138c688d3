// Package sample holds one of everything that an exported API can be made of.
package sample

import (
	"context"
	"net/http"
	"time"
)

// Limit is an untyped constant.
const Limit = 3

// State is a named number.
type State uint8

// The states.
const (
	Closed State = iota
	Open
	hidden
)

// Name is a typed string.
const Name string = "sample"

// ErrGone is a variable.
var ErrGone error

var unseen int

// Config has tags, an embedded struct and fields nobody sees.
type Config struct {
	Wait time.Duration `json:"wait"`
	*http.Server
	inner
	secret int
}

type inner struct{ Shown bool }

// Promoted is reachable only through Config.
func (inner) Promoted() {}

// Text has a value receiver.
func (c Config) Text() string { return "" }

// Set has a pointer receiver.
func (c *Config) Set(values ...int) {}

func (c Config) quiet() {}

// Option is a function type.
type Option func(*Config)

// Event is closed to other packages.
type Event interface {
	error
	At() time.Time
	event()
}

// Number is a constraint.
type Number interface{ ~int | ~float64 }

// List is generic.
type List[T any] struct{ Items []T }

// Len counts.
func (l List[T]) Len() int { return len(l.Items) }

// Sum is a generic function.
func Sum[N Number](of ...N) (total N) { return total }

// Do takes a function.
func Do(ctx context.Context, f func(context.Context) (int, error)) error { return nil }

// Old is an alias.
type Old = Config
