package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

const (
	sample = "testdata/sample"
	want   = `const Closed State = 0
const Limit untyped int = 3
const Name string = "sample"
const Open State = 1
func Do(ctx context.Context, f func(context.Context) (int, error)) error
func Sum[N Number](of ...N) (total N)
method (*Config) Set(values ...int)
method (Config) Promoted()
method (Config) Text() string
method (List[T any]) Len() int
type Config struct
type Config struct, Shown bool
type Config struct, Wait time.Duration ` + "`json:\"wait\"`" + `
type Config struct, embedded *http.Server
type Event interface
type Event interface, At() time.Time
type Event interface, error
type Event interface, unexported methods
type List[T any] struct
type List[T any] struct, Items []T
type Number interface
type Number interface, ~int | ~float64
type Old = Config
type Option func(*Config)
type State uint8
var ErrGone error
`
)

func TestPrintsOneSortedLineForEachExportedThing(t *testing.T) {
	is := is.New(t)
	var out strings.Builder
	is.NoErr(run(&out, sample, "")) // the sample compiles
	is.Equal(out.String(), want)    // a line for each exported thing, and for nothing else
}

func TestCheckAcceptsItsOwnOutput(t *testing.T) {
	is := is.New(t)
	var out strings.Builder
	is.NoErr(run(&out, sample, record(t, want))) // nothing differs
	is.Equal(out.String(), "")                   // and nothing is said
}

func TestCheckShowsBothSidesAndTheWayOut(t *testing.T) {
	is := is.New(t)
	old := strings.Replace(want, "const Limit untyped int = 3", "const Limit untyped int = 2", 1)
	old = strings.Replace(old, "type Old = Config\n", "", 1)
	file := record(t, old)
	var out strings.Builder
	is.Equal(run(&out, sample, file), errDiffers) // a difference is an error
	lines := strings.Split(out.String(), "\n")
	is.Equal(lines[:3], []string{
		"- const Limit untyped int = 2",
		"+ const Limit untyped int = 3",
		"+ type Old = Config",
	}) // each changed line once, with its sign
	is.True(strings.Contains(out.String(), "go -C tools run ./apisnapshot -dir "+sample+" > "+file)) // the command that refreshes
}

func TestPackageThatDoesNotCompileIsAnError(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	is.NoErr(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module broken\n"), 0o600))              // a module
	is.NoErr(os.WriteFile(filepath.Join(dir, "a.go"), []byte("package broken\n\nvar A Gone\n"), 0o600)) // with a hole
	var out strings.Builder
	err := run(&out, dir, "")
	is.True(err != nil && strings.Contains(err.Error(), "undefined: Gone")) // the compiler's word is passed on
	is.Equal(out.String(), "")                                              // and half an API is never printed
}

func record(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
