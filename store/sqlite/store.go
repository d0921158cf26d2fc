// Package sqlite keeps the records of a runtime in a SQLite file, which belongs
// to one process at a time.
//
// One goroutine writes. It combines all waiting operations into one transaction, which is on disk
// before any of them returns. Reads use separate connections and never wait for a write.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"go.uber.org/zap"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// records are the parts of the store that SQL databases share.
type records = sqlstore.Records

// Store is a store.Store in a SQLite file.
type Store struct {
	records

	path        string
	tenantTurns int
	logger      *zap.Logger
	lock        *fileLock

	reader sqlstore.Session
	// pool has the read connections of a file, and read their statements.
	pool *sql.DB
	read *statements
	// common are labels that many sessions have.
	common commonLabels
	// writer is nil in a read-only store.
	writer writer
	// failing is true while writes fail, for example on a full disk.
	failing atomic.Bool

	// unshrinkable ensures that the log reports only once that the file cannot
	// shrink.
	unshrinkable sync.Once

	closing sync.Once
	closed  error
}

var _ store.Store = (*Store)(nil)

var (
	// ErrClosed reports that the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly reports that the store was opened read-only.
	ErrReadOnly = errors.New("the store was opened read-only")
)

// Attach sets the queue for jobs. The queue must not use the store before Enqueue has returned.
func (s *Store) Attach(q store.Queue) {
	if s.writer != nil {
		s.writer.attachQueue(q)
	}
}

// Ping reports whether the file can be read, and written unless the store is read-only. After a
// write failed for lack of space, each Ping writes a page until one succeeds.
func (s *Store) Ping(ctx context.Context) (err error) {
	if s.pool != nil {
		err = s.pool.PingContext(ctx)
	}
	if err == nil && s.writer != nil {
		err = s.probeWrites(ctx)
	}
	return wrapError("ping", s.path, err)
}

// probeWrites writes a page if the last write that needed space failed, and nothing otherwise,
// which keeps a working disk idle.
func (s *Store) probeWrites(ctx context.Context) error {
	failing := s.failing.Load()
	err := s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		if !failing {
			return nil
		}
		// No program uses the version; setting it writes the page that holds it.
		_, err := tx.counted.statements.ExecContext(ctx, "PRAGMA user_version = 1")
		return err
	})
	if failing && err == nil {
		s.failing.Store(false)
	}
	return err
}

// Close waits for running operations, closes the file and releases its lock. It may be called
// more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		if s.pool != nil {
			errs = append(errs, s.read.close(), s.pool.Close())
		}
		errs = append(errs, s.lock.release())
		s.closed = wrapError("close", s.path, errors.Join(errs...))
	})
	return s.closed
}

// runOperation runs an operation in the next transaction and returns when the transaction is on
// disk.
func (s *Store) runOperation(ctx context.Context, fn operation) error {
	if s.writer == nil {
		return ErrReadOnly
	}
	err := s.writer.runOperation(ctx, fn)
	if notWritten(err) {
		s.failing.Store(true)
		return fmt.Errorf("%w: %w", store.ErrNotWritable, err)
	}
	return err
}

// runNamed runs an operation and returns its result. Its errors name the operation and its subject.
func runNamed[T any](ctx context.Context, s *Store, operation, id string, run func(ctx context.Context, tx *tx) (T, error)) (result T, err error) {
	err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		result, err = run(ctx, tx)
		return err
	})
	if err != nil {
		var none T
		return none, wrapError(operation, id, err)
	}
	return result, nil
}

// notWritten reports whether SQLite could not write: the disk is full, failing or
// read-only. The transaction was rolled back.
func notWritten(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return true
	default:
		return false
	}
}

// wrapError adds the operation and its subject to err.
func wrapError(operation, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = store.ErrNotFound
	}
	return fmt.Errorf("%s %s: %w", operation, id, err)
}
