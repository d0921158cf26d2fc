package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/instant"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// filter is a query whose conditions vary.
type filter struct {
	// query is a SELECT without conditions.
	query string
	conds []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (f *filter) arg(v any) string {
	f.args = append(f.args, v)
	return "$" + strconv.Itoa(len(f.args))
}

// where adds a condition.
func (f *filter) where(cond string) { f.conds = append(f.conds, cond) }

// equals restricts a column to a value, unless that is empty.
func (f *filter) equals(column, value string) {
	if value != "" {
		f.where(column + " = " + f.arg(value))
	}
}

// scope restricts the records to those that a scope sees.
func (f *filter) scope(s store.Scope) {
	if !s.All {
		f.where("tenant = " + f.arg(s.Owner.Tenant))
		f.where("subject = " + f.arg(s.Owner.Subject))
	}
}

// text returns the query with its conditions, and what follows them.
func (f *filter) text(rest string) string {
	text := f.query
	if len(f.conds) > 0 {
		text += " WHERE " + strings.Join(f.conds, " AND ")
	}
	return text + " " + rest
}

// count returns how many rows of a table match.
func (f *filter) count(ctx context.Context, pool *pgxpool.Pool, table string) (n int, err error) {
	matching := filter{query: "SELECT count(*) FROM " + table, conds: f.conds}
	err = pool.QueryRow(ctx, matching.text(""), f.args...).Scan(&n)
	if code(err) == codeBadText {
		return 0, nil
	}
	return n, err
}

// rowsOf returns the rows of a query. None match a text that the database cannot
// keep.
func rowsOf[T any](ctx context.Context, pool *pgxpool.Pool, query string, args []any) ([]T, error) {
	found, err := pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[T])
	if code(err) == codeBadText {
		return nil, nil
	}
	return rows, err
}

// latest returns a page of the rows that a filter lets through, those with the
// latest time first, and where the next page begins.
func latest[T any](ctx context.Context, pool *pgxpool.Pool, f *filter, column string, p store.Page, place func(*T) (instant.Time, string)) (rows []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.where("(" + column + ", id) < (" + f.arg(instant.Time(after.Time)) + ", " + f.arg(after.ID) + ")")
	}
	size := p.Size()
	query := f.text("ORDER BY " + column + " DESC, id DESC LIMIT " + f.arg(size+1))
	rows, err = rowsOf[T](ctx, pool, query, f.args)
	if err != nil || len(rows) <= size {
		return rows, "", err
	}
	rows = rows[:size]
	at, id := place(&rows[size-1])
	return rows, store.Cursor{Time: time.Time(at), ID: id}.String(), nil
}
