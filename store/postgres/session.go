package postgres

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// querier is a pool, a connection, or a transaction.
type querier interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// session runs the statements of sqlstore.
type session struct{ on querier }

// Exec runs a statement.
func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.on.Exec(ctx, query, convertTimes(args)...)
	return tag.RowsAffected(), err
}

// Query calls each for every row of a query. No row matches a text that the database cannot store.
func (s session) Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error {
	rows, err := s.on.Query(ctx, query, convertTimes(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := func(dest ...any) error { return rows.Scan(convertTimes(dest)...) }
	for rows.Next() {
		if err := each(scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); errorCode(err) != codeBadText {
		return err
	}
	return nil
}

// convertTimes replaces times in arguments or destinations with PostgreSQL times.
func convertTimes(list []any) []any {
	for i, v := range list {
		switch t := v.(type) {
		case sqlstore.Time:
			list[i] = instant.Time(t)
		case *sqlstore.Time:
			list[i] = (*instant.Time)(t)
		}
	}
	return list
}

// txOf returns the transaction of a session.
func txOf(s sqlstore.Session) pgx.Tx {
	return s.(session).on.(pgx.Tx) //nolint:forcetypeassert // openRecords passes it
}

// openRecords returns the records of a store.
func (s *Store) openRecords() sqlstore.Records {
	return sqlstore.New(sqlstore.Database{
		Dialect: sqlstore.PostgreSQL, Shard: s.usageShard,
		Reader: session{s.pool},
		Transact: func(ctx context.Context, do func(context.Context, sqlstore.Session) error) error {
			return s.runTransaction(ctx, func(tx pgx.Tx) error { return do(ctx, session{tx}) })
		},
		Execute: func(ctx context.Context, do func(context.Context, sqlstore.Session) error) error {
			return repeatConflicts(func() error { return do(ctx, session{s.pool}) })
		},
		LockSession: func(ctx context.Context, in sqlstore.Session, turnID string) error {
			return s.lockSession(ctx, txOf(in), turnID)
		},
		MakeRoom: func(ctx context.Context, in sqlstore.Session, tenant, sessionID string, now time.Time) error {
			return s.makeRoom(ctx, txOf(in), []string{tenant}, []string{sessionID}, now)
		},
		WrapError: wrapError,
	})
}
