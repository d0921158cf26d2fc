package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// session runs the statements of sqlstore.
type session struct{ on connection }

// Exec runs a statement.
func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query calls each for every row of a query.
func (s session) Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	if writing, ok := s.on.(*counted); ok && !strings.HasPrefix(query, "SELECT") {
		writing.rows++ // it returns what it writes
	}
	rows, err := s.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err reports failures
	scan := rows.Scan
	for rows.Next() {
		if err := each(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// openRecords sets the records of a store that a session reads.
func (s *Store) openRecords(reader sqlstore.Session) {
	transact := func(ctx context.Context, do func(context.Context, sqlstore.Session) error) error {
		return s.runOperation(ctx, func(ctx context.Context, tx *tx) error { return do(ctx, tx) })
	}
	s.reader = reader
	s.records = sqlstore.New(sqlstore.Database{
		Dialect: sqlstore.SQLite, Reader: reader, Transact: transact, Execute: transact, WrapError: wrapError, MakeRoom: s.makeRoomIn, IsRare: s.isRare,
	})
}

// makeRoomIn is makeRoom in a transaction of the records.
func (s *Store) makeRoomIn(ctx context.Context, in sqlstore.Session, tenant, sessionID string, now time.Time) error {
	return s.makeRoom(ctx, in.(*tx), tenant, sessionID, now) //nolint:forcetypeassert // openRecords passes it
}

// Prune deletes expired records. It uses one transaction per session and turn, so that no caller
// waits for long. Finally it releases the file's free space.
func (s *Store) Prune(ctx context.Context, r store.Retention) (store.Pruned, error) {
	out, err := s.records.Prune(ctx, r)
	if err == nil && s.pool != nil {
		err = wrapError("shrink", s.path, s.shrinkFile(ctx))
	}
	return out, err
}
