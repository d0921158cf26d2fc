package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dialect is how PostgreSQL writes queries whose conditions vary.
var dialect = &sqlstore.Dialect{
	Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
	Time:        func(t time.Time) any { return instant.Time(t) },
	OneOf: func(f *sqlstore.Filter, column string, values []string) string {
		return column + " = ANY(" + f.Arg(values) + ")"
	},
}

// readCount returns the number that a query counts. None match a text that the
// database cannot keep.
func readCount(ctx context.Context, pool *pgxpool.Pool, query string, args []any) (n int, err error) {
	err = pool.QueryRow(ctx, query, args...).Scan(&n)
	if errorCode(err) == codeBadText {
		return 0, nil
	}
	return n, err
}

// readRows returns the rows of a query. None match a text that the database
// cannot keep.
func readRows[T any](ctx context.Context, pool *pgxpool.Pool, query string, args []any) ([]T, error) {
	found, err := pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[T])
	if errorCode(err) == codeBadText {
		return nil, nil
	}
	return rows, err
}

// readSessions reads the sessions of the rows of a query.
func readSessions(ctx context.Context, pool *pgxpool.Pool) func(query string, args []any) ([]*store.Session, error) {
	return func(query string, args []any) ([]*store.Session, error) {
		rows, err := readRows[db.Session](ctx, pool, query, args)
		if err != nil {
			return nil, err
		}
		return sqlstore.Sessions(rows, listedSession)
	}
}

// readRecords returns what reads the records of the rows of a query.
func readRecords[Row, Record any](ctx context.Context, pool *pgxpool.Pool, record func(*Row) Record) func(query string, args []any) ([]Record, error) {
	return func(query string, args []any) ([]Record, error) {
		rows, err := readRows[Row](ctx, pool, query, args)
		return sqlstore.Records(rows, record), err
	}
}
