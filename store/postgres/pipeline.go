package postgres

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline collects statements and sends them together. It replaces a connection for the
// generated queries: it queues what they execute. Queries with rows use collect.
type pipeline struct {
	batch pgx.Batch
}

// queuedQueries returns the generated queries, whose statements are queued.
func (p *pipeline) queuedQueries() *db.Queries { return db.New(p) }

// sender sends statements: a pool, which makes one transaction of them, or a
// transaction.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// sendQueued sends the statements that were queued since the last time, in one round
// trip, and reads all that they return.
func (p *pipeline) sendQueued(ctx context.Context, to sender) error {
	if p.batch.Len() == 0 {
		return nil
	}
	batch := p.batch
	p.batch = pgx.Batch{}
	return to.SendBatch(ctx, &batch).Close()
}

// queueRows queues a query and appends its rows to into when it is sent. The
// columns go by their position.
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

// oneRow returns the row of a query that has one or none.
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

// Query refuses: its rows are not there before the pipeline is sent.
func (p *pipeline) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errNoRows }

// QueryRow refuses as Query does.
func (p *pipeline) QueryRow(context.Context, string, ...any) pgx.Row { return noRow{} }

type noRow struct{}

// Scan returns an error.
func (noRow) Scan(...any) error { return errNoRows }

var errNoRows = errors.New("a pipeline returns no rows")
