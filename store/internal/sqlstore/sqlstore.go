// Package sqlstore implements the parts of a store.Store that SQL databases share. Most
// statements are the same for all; a Dialect has the fragments that differ.
//
// Statements number their arguments $1, $2 and so on.
package sqlstore

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/store"
)

// Session runs statements, in a transaction or outside of one.
type Session interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query calls each for every row of a query.
	Query(ctx context.Context, query string, args []any, each func(scan func(dest ...any) error) error) error
}

// Database is a database with the tables of a store. All fields but LockSession and IsRare
// are required.
type Database struct {
	Dialect *Dialect
	// Reader runs queries outside of transactions.
	Reader Session
	// Transact runs do in a transaction, possibly several times until it succeeds. Execute is the
	// same for one statement, which may need no transaction around it.
	Transact, Execute func(ctx context.Context, do func(ctx context.Context, s Session) error) error
	// LockSession locks the room of a turn's tenant and then the turn's session; nil if
	// transactions are serialized.
	LockSession func(ctx context.Context, s Session, turnID string) error
	// MakeRoom admits the turns that a change made room for in a session and a tenant.
	MakeRoom func(ctx context.Context, s Session, tenant, sessionID string, now time.Time) error
	// Shard distinguishes the usage rows of processes that write at the same time.
	Shard int
	// WrapError adds an operation and its subject to an error of the database.
	WrapError func(operation, subject string, err error) error
	// IsRare reports whether so few sessions have a label that searching them beats scanning the
	// latest sessions; nil leaves the choice to the database.
	IsRare func(ctx context.Context, key, value string) (bool, error)
}

// core is shared by the records of a database.
type core struct {
	db      Database
	dialect *Dialect
}

// lock runs a statement that blocks other transactions, if the dialect is concurrent.
func (r *core) lock(ctx context.Context, s Session, statement string, args ...any) error {
	if !r.dialect.concurrent {
		return nil
	}
	_, err := s.Exec(ctx, statement, args...)
	return err
}

// transact returns the result of do in a transaction. Its errors name an operation and its subject.
func transact[T any](ctx context.Context, r *core, operation, subject string, do func(ctx context.Context, s Session) (T, error)) (result T, err error) {
	err = r.db.Transact(ctx, func(ctx context.Context, s Session) error {
		result, err = do(ctx, s)
		return err
	})
	if err != nil {
		var none T
		return none, r.db.WrapError(operation, subject, err)
	}
	return result, nil
}

// exec runs one statement and returns how many rows it changed.
func (r *core) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = r.db.Execute(ctx, func(ctx context.Context, s Session) error {
		changed, err = s.Exec(ctx, statement, args...)
		return err
	})
	return changed, err
}

// findVisible is FindRow for a record that the scope sees.
func findVisible[T any](ctx context.Context, s Session, scope store.Scope, owner func(*T) *store.Owner, fields func(*T) []any, query string, args ...any) (*T, error) {
	found, err := FindRow(ctx, s, fields, query, args...)
	if err == nil && !scope.Sees(*owner(found)) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// FindRow returns the only row of a query, or store.ErrNotFound if absent. fields returns the scan
// destinations.
func FindRow[T any](ctx context.Context, s Session, fields func(*T) []any, query string, args ...any) (*T, error) {
	var found *T
	err := s.Query(ctx, query, args, func(scan func(dest ...any) error) error {
		found = new(T)
		return scan(fields(found)...)
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, store.ErrNotFound
	default:
		return found, nil
	}
}

// eachRow calls add for every row of a query.
func eachRow[T any](ctx context.Context, s Session, fields func(*T) []any, query string, args []any, add func(row T)) error {
	var row, none T
	into := fields(&row)
	return s.Query(ctx, query, args, func(scan func(dest ...any) error) error {
		row = none
		if err := scan(into...); err != nil {
			return err
		}
		add(row)
		return nil
	})
}

// CollectRows returns the rows of a query.
func CollectRows[T any](ctx context.Context, s Session, fields func(*T) []any, query string, args ...any) (list []T, err error) {
	err = eachRow(ctx, s, fields, query, args, func(row T) { list = append(list, row) })
	return list, err
}

// CollectRecords returns the rows of a query as pointers.
func CollectRecords[T any](ctx context.Context, s Session, fields func(*T) []any, query string, args ...any) (list []*T, err error) {
	err = eachRow(ctx, s, fields, query, args, func(row T) { list = append(list, &row) })
	return list, err
}

// column returns the scan destination of a single-column row.
func column[T any](v *T) []any { return []any{v} }

// CollectColumn returns the values of a query with one column.
func CollectColumn[T any](ctx context.Context, s Session, query string, args ...any) ([]T, error) {
	return CollectRows(ctx, s, column[T], query, args...)
}

// FindValue returns the value of a query with one row and column; the zero value without a row.
func FindValue[T any](ctx context.Context, s Session, query string, args ...any) (value T, err error) {
	err = s.Query(ctx, query, args, func(scan func(dest ...any) error) error { return scan(&value) })
	return value, err
}

// checkChanged returns store.ErrNotFound for a statement that changed no row.
func checkChanged(n int64, err error) error {
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// bareLimit matches limits that are arguments.
var bareLimit = regexp.MustCompile(`LIMIT (\$\d+)`)

// RewriteForSQLite returns a statement in SQLite's syntax. It casts a limit argument: SQLite would
// otherwise plan by its value and prepare the statement whenever it is bound.
func RewriteForSQLite(statement string) string {
	return strings.ReplaceAll(bareLimit.ReplaceAllString(statement, "LIMIT CAST($1 AS INTEGER)"), "$", "?")
}

// Qualify adds an alias to the names of columns.
func Qualify(alias, columns string) string {
	return alias + "." + strings.ReplaceAll(columns, ", ", ", "+alias+".")
}
