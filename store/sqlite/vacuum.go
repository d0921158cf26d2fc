package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"go.uber.org/zap"
)

const (
	// autoVacuum is the name under which Migrate reports that it made a file shrinkable, and
	// incremental is the value of the pragma of such a file.
	autoVacuum  = "auto_vacuum"
	incremental = 2
	// vacuumStep is how many pages one transaction returns: a writer waits for at most one step.
	vacuumStep = 256
	// manyFree is the number of free pages from which the log recommends a remedy for a file that
	// cannot shrink.
	manyFree = 4096
)

// enableVacuum rewrites a file that was created before files could shrink, and reports whether it
// had to. It takes as much time and space as copying the file.
func enableVacuum(ctx context.Context, conn *sql.DB) (bool, error) {
	var mode int
	if err := conn.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil || mode == incremental {
		return false, err
	}
	one, err := conn.Conn(ctx) // the pragma applies to VACUUM on the same connection
	if err != nil {
		return false, err
	}
	defer one.Close()
	for _, statement := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "VACUUM"} {
		if _, err := one.ExecContext(ctx, statement); err != nil {
			return false, fmt.Errorf("rewrite the file so that it can shrink: %w", err)
		}
	}
	return true, nil
}

// shrinkFile returns the free pages to the file system, a few in each transaction,
// so that concurrent writers hardly wait.
func (s *Store) shrinkFile(ctx context.Context) error {
	for before := -1; ; {
		mode, free, err := s.freePages(ctx)
		switch {
		case err != nil:
			return err
		case mode != incremental:
			s.noteUnshrinkable(free)
			return nil
		case free == 0, free == before:
			return s.truncateLog(ctx)
		}
		before = free
		err = s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
			return runPragma(ctx, tx.counted.connection, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumStep))
		})
		if err != nil {
			return err
		}
	}
}

// truncateLog checkpoints the log into the file, which can then shrink. If a reader needs the log,
// a later checkpoint does it. The first checkpoint runs beside writers; the second, which has
// little left to do, blocks them, because only a log that does not grow is fully checkpointed.
func (s *Store) truncateLog(ctx context.Context) error {
	const pragma = "PRAGMA wal_checkpoint(PASSIVE)"
	if err := runPragma(ctx, s.pool, pragma); err != nil {
		return err
	}
	return s.runOperation(ctx, func(ctx context.Context, _ *tx) error { return runPragma(ctx, s.pool, pragma) })
}

// freePages returns the auto_vacuum mode of the file and the number of its free pages.
func (s *Store) freePages(ctx context.Context) (mode, free int, err error) {
	if err = s.pool.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err == nil {
		err = s.pool.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free)
	}
	return mode, free, err
}

// noteUnshrinkable logs once that a file keeps its size.
func (s *Store) noteUnshrinkable(free int) {
	if free < manyFree {
		return
	}
	s.unshrinkable.Do(func() {
		s.logger.Warn("the file cannot shrink: stop the server and run 'runtime migrate' once", zap.String("file", s.path), zap.Int("free_pages", free))
	})
}

// querier runs queries: a connection or a *sql.DB.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// runPragma runs a pragma that takes effect while its rows are read.
func runPragma(ctx context.Context, on querier, pragma string) error {
	rows, err := on.QueryContext(ctx, pragma)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
