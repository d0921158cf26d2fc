// Package sqlstore builds the SELECT statements of stores in SQL databases whose
// conditions vary, and reads their rows as pages.
package sqlstore

import (
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/rules"
)

// Dialect is how a database writes what others write differently.
type Dialect struct {
	// Placeholder stands for the argument with a number, which counts from 1.
	Placeholder func(n int) string
	// Limit returns what bounds the number of rows to an argument with a placeholder; nil
	// is LIMIT and the placeholder.
	Limit func(placeholder string) string
	// Time returns a time as the database keeps it.
	Time func(t time.Time) any
	// OneOf returns the condition that a column has one of the values, which are
	// not empty.
	OneOf func(f *Filter, column string, values []string) string
}

// Filter is a SELECT whose conditions vary. Conditions stand in the order in
// which they are added.
type Filter struct {
	dialect *Dialect
	query   string
	conds   []string
	args    []any
}

// Select begins with a SELECT without conditions.
func (d *Dialect) Select(query string) *Filter { return &Filter{dialect: d, query: query} }

// Arg adds an argument and returns its placeholder.
func (f *Filter) Arg(v any) string {
	f.args = append(f.args, v)
	return f.dialect.Placeholder(len(f.args))
}

// Time adds a time as an argument and returns its placeholder.
func (f *Filter) Time(t time.Time) string { return f.Arg(f.dialect.Time(t)) }

// Limit returns a clause that ends the rows after some. It stands at the end of a
// statement.
func (f *Filter) Limit(rows int) string {
	placeholder := f.Arg(rows)
	if f.dialect.Limit == nil {
		return "LIMIT " + placeholder
	}
	return f.dialect.Limit(placeholder)
}

// Where adds a condition.
func (f *Filter) Where(cond string) { f.conds = append(f.conds, cond) }

// Equals restricts a column to a value, unless that is empty.
func (f *Filter) Equals(column, value string) {
	if value != "" {
		f.Where(column + " = " + f.Arg(value))
	}
}

// Scope restricts the records to those that a scope sees.
func (f *Filter) Scope(s store.Scope) {
	if !s.All {
		f.Where("tenant = " + f.Arg(s.Owner.Tenant))
		f.Where("subject = " + f.Arg(s.Owner.Subject))
	}
}

// Statement returns the query with its conditions and what follows them, and its
// arguments.
func (f *Filter) Statement(rest string) (query string, args []any) {
	return f.query + f.whereClause() + " " + rest, f.args
}

// Count returns the statement that counts the rows of a table that match.
func (f *Filter) Count(table string) (query string, args []any) {
	return "SELECT count(*) FROM " + table + f.whereClause(), f.args
}

func (f *Filter) whereClause() string {
	if len(f.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.conds, " AND ")
}

// Latest returns a page of the records that a filter lets through, those with
// the latest time in a column first, and where the next page begins. read runs a
// statement; cursor has the time of the column.
func Latest[T any](f *Filter, column string, p store.Page, cursor func(T) store.Cursor, read func(query string, args []any) ([]T, error)) (page []T, next string, err error) {
	after, err := p.Cursor()
	if err != nil {
		return nil, "", err
	}
	if after != nil {
		f.Where("(" + column + ", id) < (" + f.Time(after.Time) + ", " + f.Arg(after.ID) + ")")
	}
	list, err := read(f.Statement("ORDER BY " + column + " DESC, id DESC " + f.Limit(p.Size()+1)))
	if err != nil {
		return nil, "", err
	}
	page, next = rules.CutPage(list, p, cursor)
	return page, next, nil
}

// Records returns the records of rows.
func Records[Row, Record any](rows []Row, record func(*Row) Record) []Record {
	var list []Record
	if len(rows) > 0 {
		list = make([]Record, len(rows))
	}
	for i := range rows {
		list[i] = record(&rows[i])
	}
	return list
}
