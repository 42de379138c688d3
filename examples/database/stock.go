package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A stock of books in a file, of which a program may have several, and other programs too.
type stock struct {
	db       *sql.DB
	pipeline *resilient.Pipeline
}

// openStock opens a file. The stocks of one registry share a budget and a breaker, for their pipelines have one name.
func openStock(file string, registry *resilient.Registry) (stock, error) {
	// The driver must not wait for locks by itself: that would be a wait within each attempt that nobody sees.
	db, err := sql.Open("sqlite", "file:"+file+"?_busy_timeout=0&_txlock=immediate")
	if err != nil {
		return stock{}, err
	}
	pipeline, err := strategies().Registry(registry).BuildPipeline()
	return stock{db, pipeline}, err
}

// strategies are for a database that is locked for moments. Conservative repeats nothing that may have been done, and
// take says of its transactions that they may be.
func strategies() resilient.Builder {
	return resilient.New("stock").
		Defaults(resilient.Conservative).
		Timeout(resilient.Total(2*time.Second), resilient.PerAttempt(time.Second)).
		Retry(resilient.MaxRetries(4), resilient.Backoff(20*time.Millisecond, 200*time.Millisecond), resilient.NoJitter).
		Budget(resilient.RetryRatio(0.2), resilient.LowVolumeRetries(10)).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(30))
}

// take takes copies of a book, and returns how many are left. A transaction that fails has done nothing, so it may be
// repeated.
func (s stock) take(ctx context.Context, book string, copies int) (left int, err error) {
	return resilient.Execute(resilient.Replayable(ctx), s.pipeline, func(ctx context.Context) (int, error) {
		left, err := s.takeOnce(ctx, book, copies)
		return left, unlessLocked(ctx, err)
	})
}

func (s stock) takeOnce(ctx context.Context, book string, copies int) (left int, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // which does nothing after Commit
	const update = `UPDATE stock SET copies = copies - ? WHERE book = ? RETURNING copies`
	if err := tx.QueryRowContext(ctx, update, copies, book).Scan(&left); err != nil {
		return 0, err
	}
	return left, tx.Commit()
}

// unlessLocked makes errors permanent that no retry mends: a constraint, a missing row, a typing error. A lock passes.
func unlessLocked(ctx context.Context, err error) error {
	var e *sqlite.Error
	switch {
	case err == nil, ctx.Err() != nil: // out of time: the pipeline knows whose
		return err
	case errors.As(err, &e) && (primary(e) == sqlite3.SQLITE_BUSY || primary(e) == sqlite3.SQLITE_LOCKED):
		return err
	}
	return backoff.Permanent(err)
}

// primary is the code without what SQLite adds to it in higher bits.
func primary(e *sqlite.Error) int { return e.Code() & 0xff }

// fill makes the table, with a few copies of one book.
func (s stock) fill(ctx context.Context, copies int) error {
	_, err := s.db.ExecContext(ctx, `
		CREATE TABLE stock (book TEXT PRIMARY KEY, copies INTEGER NOT NULL CHECK (copies >= 0));
		INSERT INTO stock VALUES ('Walden', ?)`, copies)
	return err
}

// lock keeps others from writing until release is called.
func (s stock) lock(ctx context.Context) (release func(), err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return func() { _ = tx.Rollback() }, nil
}

func (s stock) close() { _ = s.db.Close() }
