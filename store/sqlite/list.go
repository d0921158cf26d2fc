package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
	"github.com/agentruntime/agentruntime/store/sqlite/internal/db"
)

// dialect is how SQLite writes queries whose conditions vary.
var dialect = &sqlstore.Dialect{
	Placeholder: func(int) string { return "?" },
	Limit:       limitRows,
	Time:        func(t time.Time) any { return toMicros(t) },
	OneOf: func(f *sqlstore.Filter, column string, values []string) string {
		return column + " IN " + listPlaceholders(f, values)
	},
}

// limitRows returns LIMIT without a bare parameter: SQLite plans by its value, and
// prepares the statement anew whenever it is bound again.
func limitRows(placeholder string) string { return "LIMIT CAST(" + placeholder + " AS INTEGER)" }

// listPlaceholders adds values, which are not empty, and returns a list of their placeholders.
func listPlaceholders(f *sqlstore.Filter, values []string) string {
	for _, v := range values {
		f.Arg(v)
	}
	return "(?" + strings.Repeat(", ?", len(values)-1) + ")"
}

// readRows returns the rows of a query. fields returns where the columns of a row
// go.
func readRows[T any](ctx context.Context, on db.DBTX, query string, args []any, fields func(*T) []any) (list []T, err error) {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err reports failures
	var row T
	into := fields(&row)
	for rows.Next() {
		var none T
		row = none
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// readRecords returns what reads the records of the rows of a query.
func readRecords[Row, Record any](ctx context.Context, on db.DBTX, fields func(*Row) []any, record func(*Row) Record) func(query string, args []any) ([]Record, error) {
	return func(query string, args []any) ([]Record, error) {
		rows, err := readRows(ctx, on, query, args, fields)
		return sqlstore.Records(rows, record), err
	}
}
