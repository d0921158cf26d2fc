package sqlstore

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// filter is a statement with variable conditions.
type filter struct {
	dialect *Dialect
	query   string
	conds   []string
	args    []any
}

// newFilter returns a filter for a statement without conditions.
func (d *Dialect) newFilter(query string) *filter { return &filter{dialect: d, query: query} }

// now returns an expression for the current time by the lease clock.
func (d *Dialect) now(f *filter) string {
	if d.concurrent {
		return "clock_timestamp()"
	}
	return f.Time(time.Now())
}

// afterNow adds a time in the future by the same clock.
func (d *Dialect) afterNow(f *filter, lease time.Duration) string {
	if d.concurrent {
		return "clock_timestamp() + " + f.Arg(lease.Microseconds()) + "::bigint * interval '1 microsecond'"
	}
	return f.Time(time.Now().Add(lease))
}

// oneOf returns the condition that a column has one of the values. SQLite gets the values of a
// short list as separate arguments, which improves its plans.
func (d *Dialect) oneOf(f *filter, column string, values []string) string {
	if d.concurrent {
		return column + " = ANY(" + f.Arg(values) + "::text[])"
	}
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = f.Arg(v)
	}
	return column + " IN (" + strings.Join(marks, ", ") + ")"
}

// Arg adds an argument and returns its placeholder.
func (f *filter) Arg(v any) string {
	f.args = append(f.args, v)
	return "$" + strconv.Itoa(len(f.args))
}

// Time adds a time as an argument and returns its placeholder.
func (f *filter) Time(t time.Time) string { return f.Arg(Time(t)) }

// limit returns the LIMIT clause for a number of rows.
func (f *filter) limit(rows int) string { return "LIMIT " + f.Arg(int64(rows)) }

// where adds a condition.
func (f *filter) where(cond string) { f.conds = append(f.conds, cond) }

// equals restricts a column to a value, unless the value is empty.
func (f *filter) equals(column, value string) {
	if value != "" {
		f.where(column + " = " + f.Arg(value))
	}
}

// equalsLiteral is Equals, but writes the value indexed, which the condition of an index names,
// into the statement.
func (f *filter) equalsLiteral(column, value, indexed string) {
	if value == indexed {
		f.where(column + " = '" + indexed + "'")
		return
	}
	f.equals(column, value)
}

// Scope restricts the records to those visible in a scope.
func (f *filter) Scope(s store.Scope) {
	if !s.All {
		f.where("tenant = " + f.Arg(s.Owner.Tenant))
		f.where("subject = " + f.Arg(s.Owner.Subject))
	}
}

// statement returns the statement with its conditions, followed by rest.
func (f *filter) statement(rest string) string {
	if len(f.conds) == 0 {
		return f.query + " " + rest
	}
	return f.query + " WHERE " + strings.Join(f.conds, " AND ") + " " + rest
}

// readLatest returns a page of the records that a filter selects, latest in a time column first,
// and where the next page begins. cursor has the time of the column.
func readLatest[Row, Record any](
	ctx context.Context, s Session, f *filter, column string, p store.Page, fields func(*Row) []any, record func([]*Row) ([]Record, error), cursor func(Record) store.Cursor,
) (page []Record, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.where("(" + column + ", id) < (" + f.Time(after.Time) + ", " + f.Arg(after.ID) + ")")
	}
	statement := f.statement("ORDER BY " + column + " DESC, id DESC " + f.limit(p.Size()+1))
	rows, err := CollectRecords(ctx, s, fields, statement, f.args...)
	if err != nil {
		return nil, "", err
	}
	list, err := record(rows)
	if err != nil {
		return nil, "", err
	}
	page, next = rules.CutPage(list, p, cursor)
	return page, next, nil
}

// readNumbered returns a page of the rows that a filter selects, greatest in a column of numbers
// first, and where the next page begins. cursor has the number of the column.
func readNumbered[Row any](
	ctx context.Context, s Session, f *filter, column string, p store.Page, fields func(*Row) []any, cursor func(*Row) store.Cursor,
) (page []*Row, next string, err error) {
	before, err := p.Place()
	if err != nil {
		return nil, "", err
	}
	f.where(column + " < " + f.Arg(before))
	rows, err := CollectRecords(ctx, s, fields, f.statement("ORDER BY "+column+" DESC "+f.limit(p.Size()+1)), f.args...)
	if err != nil {
		return nil, "", err
	}
	page, next = rules.CutPage(rows, p, cursor)
	return page, next, nil
}

// asTheyAre returns rows unchanged as records.
func asTheyAre[T any](rows []*T) ([]*T, error) { return rows, nil }

// limitOf returns the limit of a query, or store.MaxPage if it has none.
func limitOf(limit int) int { return cmp.Or(limit, store.MaxPage) }
