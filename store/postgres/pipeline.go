package postgres

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline collects statements and sends them together. It stands in for a connection and queues
// what the generated queries execute. Queries with rows use queueRows or queueColumn.
type pipeline struct {
	batch pgx.Batch
}

// queuedQueries returns the generated queries, whose statements are queued.
func (p *pipeline) queuedQueries() *db.Queries { return db.New(p) }

// sender sends statements: it is a transaction, or a pool that runs them in one transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// sendQueued sends the statements queued since the last call in one round trip and reads all
// results.
func (p *pipeline) sendQueued(ctx context.Context, to sender) error {
	if p.batch.Len() == 0 {
		return nil
	}
	batch := p.batch
	p.batch = pgx.Batch{}
	return to.SendBatch(ctx, &batch).Close()
}

// queueRows queues a query and appends its rows to into when it is sent. Columns are matched by
// position.
func queueRows[T any](p *pipeline, into *[]T, query string, args ...any) {
	p.batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.AppendRows(*into, rows, pgx.RowToStructByPos[T])
		return err
	})
}

// queueColumn queues a query with one column.
func queueColumn[T any](p *pipeline, into *[]T, query string, args ...any) {
	p.batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.AppendRows(*into, rows, pgx.RowTo[T])
		return err
	})
}

// oneRow returns the row of a query with at most one row.
func oneRow[T any](rows []T) *T {
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

// Exec queues a statement.
func (p *pipeline) Exec(_ context.Context, statement string, args ...any) (pgconn.CommandTag, error) {
	p.batch.Queue(statement, args...)
	return pgconn.CommandTag{}, nil
}

// Query fails: its rows are not available before the pipeline is sent.
func (p *pipeline) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errNoRows }

// QueryRow fails like Query.
func (p *pipeline) QueryRow(context.Context, string, ...any) pgx.Row { return noRow{} }

type noRow struct{}

// Scan returns an error.
func (noRow) Scan(...any) error { return errNoRows }

var errNoRows = errors.New("a pipeline returns no rows")
