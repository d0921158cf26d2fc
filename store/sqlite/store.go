// Package sqlite keeps the records of a runtime in a SQLite file, which belongs
// to one process at a time.
//
// One goroutine writes. It takes all operations that wait for it into one
// transaction, whose commit is on disk before any of them returns. Reads go
// through connections of their own and never wait for a write.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
	"go.uber.org/zap"
)

// Store is a store.Store in a SQLite file.
type Store struct {
	path        string
	tenantTurns int
	logger      *zap.Logger
	lock        *fileLock

	// pool has the connections that read, and queries what they read with.
	pool    *sql.DB
	read    *statements
	queries *db.Queries
	// writer is nil when the store only reads.
	writer *writer

	// unshrinkable is done once the log says that the file cannot shrink.
	unshrinkable sync.Once

	closing sync.Once
	closed  error
}

var _ store.Store = (*Store)(nil)

var (
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly says that the store was opened to be read.
	ErrReadOnly = errors.New("the store was opened to be read only")
)

// Attach sets who is told of jobs. The queue must not use the store before
// Enqueue has returned.
func (s *Store) Attach(q store.Queue) {
	if s.writer != nil {
		s.writer.attach(q)
	}
}

// Ping reports whether the file can be read, and written unless the store only
// reads.
func (s *Store) Ping(ctx context.Context) error {
	err := s.pool.PingContext(ctx)
	if err == nil && s.writer != nil {
		err = s.writer.do(ctx, func(context.Context, *tx) error { return nil })
	}
	return wrap("ping", s.path, err)
}

// Close waits for what is under way, closes the file and gives up its lock. It
// may be called more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		var errs []error
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		errs = append(errs, s.read.close(), s.pool.Close(), s.lock.release())
		s.closed = wrap("close", s.path, errors.Join(errs...))
	})
	return s.closed
}

// write runs an operation in the next transaction, and returns when that is on
// disk.
func (s *Store) write(ctx context.Context, fn operation) error {
	if s.writer == nil {
		return ErrReadOnly
	}
	return s.writer.do(ctx, fn)
}

// wrap says what was done to what when the error arose.
func wrap(operation, id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = store.ErrNotFound
	}
	return fmt.Errorf("%s %s: %w", operation, id, err)
}
