// Command database puts the strategies of a client around calls that are not HTTP: transactions in a SQLite file, by
// database/sql. It waits for locks, does not repeat what can't succeed, gives up when the time is up, and leaves a
// database alone that does nothing but refuse.
//
//	go -C examples/database run .
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

func main() {
	folder, err := os.MkdirTemp("", "stock")
	if err == nil {
		err = errors.Join(run(context.Background(), os.Stdout, folder), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "database:", err)
		os.Exit(1)
	}
}

// run tells the story, with a database in a folder.
func run(ctx context.Context, w io.Writer, folder string) error {
	registry := resilient.NewRegistry()
	file := filepath.Join(folder, "stock.db")
	shop, err := openStock(file, registry)
	if err != nil {
		return err
	}
	defer shop.close()
	other, err := openStock(file, registry) // another part of the program, which writes to the same file
	if err != nil {
		return err
	}
	defer other.close()
	if err := shop.fill(ctx, 10); err != nil {
		return err
	}
	if err := lockThatPasses(ctx, w, shop, other); err != nil {
		return err
	}
	nothingToWaitFor(ctx, w, shop)
	release, err := other.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	noTimeToWait(ctx, w, shop)
	lockThatStays(ctx, w, shop, registry)
	_, err = other.take(ctx, "Walden", 1)
	fmt.Fprintf(w, "The other part of the program has the same breaker: %v.\n", err)
	return nil
}

func lockThatPasses(ctx context.Context, w io.Writer, shop, other stock) error {
	release, err := other.lock(ctx)
	if err != nil {
		return err
	}
	const while = 100 * time.Millisecond
	time.AfterFunc(while, release)
	ctx, report := resilient.WithReport(ctx)
	left, err := shop.take(ctx, "Walden", 3)
	fmt.Fprintf(w, "Locked for %v: taken at attempt %d, %d copies are left.\n", while, report.Attempts(), left)
	return err
}

func nothingToWaitFor(ctx context.Context, w io.Writer, shop stock) {
	for _, book := range []string{"Walden", "Emma"} {
		ctx, report := resilient.WithReport(ctx)
		_, err := shop.take(ctx, book, 100)
		fmt.Fprintf(w, "A hundred copies of %s: %v. Attempts: %d.\n", book, err, report.Attempts())
	}
}

func noTimeToWait(ctx context.Context, w io.Writer, shop stock) {
	const patience = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, report := resilient.WithReport(ctx)
	_, err := shop.take(ctx, "Walden", 1)
	fmt.Fprintf(w, "Locked, and %v to spare: %v. Attempts: %d, for the next would come after the %s.\n",
		patience, err, report.Attempts(), report.Ended())
}

func lockThatStays(ctx context.Context, w io.Writer, shop stock, registry *resilient.Registry) {
	const calls = 60
	attempts := 0
	for range calls {
		ctx, report := resilient.WithReport(ctx)
		_, _ = shop.take(ctx, "Walden", 1) // fails
		attempts += report.Attempts()
	}
	state := registry.Snapshot()[0]
	fmt.Fprintf(w, "Locked for good, %d calls: %d attempts, then %d calls refused by the breaker; %d retries denied by the budget.\n",
		calls, attempts, state.Rejected["circuit_breaker"], state.RetriesDenied["budget_exhausted"])
}
