package sqlite

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// filter is a query whose conditions vary.
type filter struct {
	// query is a SELECT without conditions.
	query string
	conds []string
	args  []any
}

// where adds a condition with its arguments.
func (f *filter) where(cond string, args ...any) {
	f.conds = append(f.conds, cond)
	f.args = append(f.args, args...)
}

// equals restricts a column to a value, unless that is empty.
func (f *filter) equals(column, value string) {
	if value != "" {
		f.where(column+" = ?", value)
	}
}

// scope restricts the records to those that a scope sees.
func (f *filter) scope(s store.Scope) {
	if !s.All {
		f.where("tenant = ? AND subject = ?", s.Owner.Tenant, s.Owner.Subject)
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
func (f *filter) count(ctx context.Context, on db.DBTX, table string) (n int, err error) {
	matching := filter{query: "SELECT count(*) FROM " + table, conds: f.conds}
	err = on.QueryRowContext(ctx, matching.text(""), f.args...).Scan(&n)
	return n, err
}

// collect returns the rows of a query. fields returns where the columns of a row
// go.
func collect[T any](ctx context.Context, on db.DBTX, query string, args []any, fields func(*T) []any) (list []T, err error) {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// latest returns a page of the rows that a filter lets through, those with the
// latest time first, and where the next page begins.
func latest[T any](ctx context.Context, on db.DBTX, f *filter, column string, p store.Page, fields func(*T) []any, place func(*T) (int64, string)) (rows []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.where("("+column+", id) < (?, ?)", micros(after.Time), after.ID)
	}
	size := p.Size()
	rows, err = collect(ctx, on, f.text("ORDER BY "+column+" DESC, id DESC LIMIT ?"), append(f.args, size+1), fields)
	if err != nil || len(rows) <= size {
		return rows, "", err
	}
	rows = rows[:size]
	at, id := place(&rows[size-1])
	return rows, store.Cursor{Time: instant(at), ID: id}.String(), nil
}
