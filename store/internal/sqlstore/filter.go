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

// Filter is a statement whose conditions vary.
type Filter struct {
	dialect *Dialect
	query   string
	conds   []string
	args    []any
}

// newFilter begins with a statement without conditions.
func (d *Dialect) newFilter(query string) *Filter { return &Filter{dialect: d, query: query} }

// Arg adds an argument and returns its placeholder.
func (f *Filter) Arg(v any) string {
	f.args = append(f.args, v)
	return "$" + strconv.Itoa(len(f.args))
}

// Time adds a time as an argument and returns its placeholder.
func (f *Filter) Time(t time.Time) string { return f.Arg(Time(t)) }

// Limit returns the clause that ends the rows after some.
func (f *Filter) Limit(rows int) string { return "LIMIT " + f.Arg(int64(rows)) }

// Where adds a condition.
func (f *Filter) Where(cond string) { f.conds = append(f.conds, cond) }

// Equals restricts a column to a value, unless that is empty.
func (f *Filter) Equals(column, value string) {
	if value != "" {
		f.Where(column + " = " + f.Arg(value))
	}
}

// EqualsLiteral is Equals, but writes one of the values into the statement: the one in the
// condition of an index.
func (f *Filter) EqualsLiteral(column, value, indexed string) {
	if value == indexed {
		f.Where(column + " = '" + indexed + "'")
		return
	}
	f.Equals(column, value)
}

// Scope restricts the records to those that a scope sees.
func (f *Filter) Scope(s store.Scope) {
	if !s.All {
		f.Where("tenant = " + f.Arg(s.Owner.Tenant))
		f.Where("subject = " + f.Arg(s.Owner.Subject))
	}
}

// Statement returns the statement with its conditions and what follows them.
func (f *Filter) Statement(rest string) string {
	if len(f.conds) == 0 {
		return f.query + " " + rest
	}
	return f.query + " WHERE " + strings.Join(f.conds, " AND ") + " " + rest
}

// readLatest returns a page of the records that a filter lets through, those with the
// latest time in a column first, and where the next page begins. cursor has the time of
// the column.
func readLatest[Row, Record any](
	ctx context.Context, s Session, f *Filter, column string, p store.Page, fields func(*Row) []any, record func([]*Row) ([]Record, error), cursor func(Record) store.Cursor,
) (page []Record, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.Where("(" + column + ", id) < (" + f.Time(after.Time) + ", " + f.Arg(after.ID) + ")")
	}
	statement := f.Statement("ORDER BY " + column + " DESC, id DESC " + f.Limit(p.Size()+1))
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

// asTheyAre returns records that are read from rows without a change.
func asTheyAre[T any](rows []*T) ([]*T, error) { return rows, nil }

// limitOf returns the limit of a query, which is store.MaxPage if it has none.
func limitOf(limit int) int { return cmp.Or(limit, store.MaxPage) }
