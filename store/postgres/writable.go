package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// renewInterval is the minimum time between reopening all connections while the database is
// read-only.
const renewInterval = time.Second

// watchErrors returns a handler that sees every error of the pool's connections. It closes
// connections that reject writes; for all others, keep decides whether the connection is kept.
func (s *Store) watchErrors(keep pgconn.PgErrorHandler) pgconn.PgErrorHandler {
	return func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if notWritten(err) {
			s.failing.Store(true)
		}
		kept := keep(conn, err)
		if err.Code == codeReadOnly {
			s.renewConnections()
			return false
		}
		return kept
	}
}

// noteReadOnly notes a new connection that rejects writes, as it still will when the database takes
// writes again. PostgreSQL 14 and later report this without a query.
func (s *Store) noteReadOnly(conn *pgconn.PgConn) {
	if conn.ParameterStatus("default_transaction_read_only") == "on" || conn.ParameterStatus("in_hot_standby") == "on" {
		s.stale.Store(true)
	}
}

// renewConnections closes all connections when they become idle. Those opened while the database
// was read-only stay read-only, and after a failover they may lead to the old primary. Nothing is
// written before Open returns, so the pool exists.
func (s *Store) renewConnections() {
	s.stale.Store(true)
	s.mu.Lock()
	due := time.Since(s.renewed) >= renewInterval
	if due {
		s.renewed = time.Now()
	}
	s.mu.Unlock()
	if due {
		s.pool.Reset()
	}
}

// Ping reports whether the database responds and accepts writes. After a write failed for lack of
// space, each Ping writes a temporary table until one succeeds. If the database is read-only, all
// connections are reopened, as after a rejected write, and once more when it accepts writes again,
// so that no older connection is used after the Ping that succeeds.
func (s *Store) Ping(ctx context.Context) error {
	var readOnly bool
	err := s.pool.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::bool").Scan(&readOnly)
	switch {
	case err != nil:
		return fmt.Errorf("ping PostgreSQL: %w", err)
	case readOnly:
		s.renewConnections()
		return fmt.Errorf("ping PostgreSQL: %w: the database is read-only", store.ErrNotWritable)
	case s.stale.Swap(false):
		s.pool.Reset()
	}
	if !s.failing.Load() {
		return nil
	}
	if err := s.probeWrites(ctx); notWritten(err) {
		return wrapError("ping", "PostgreSQL", err)
	}
	s.failing.Store(false) // also if temporary tables are forbidden: the next write will tell
	return nil
}

// probeWrites writes a few pages.
func (s *Store) probeWrites(ctx context.Context) error {
	const pages = "CREATE TEMPORARY TABLE runtime_probe ON COMMIT DROP AS SELECT n, repeat('x', 1000) FROM generate_series(1, 64) n"
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, pages)
		return err
	})
}
