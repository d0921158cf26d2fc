package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/agentruntime/agentruntime/store/internal/sqlstore"
)

// maxStatements limits the cached prepared statements: this package has fewer, but list queries
// vary.
const maxStatements = 256

// connection is a *sql.Conn or *sql.DB, or statements on one.
type connection interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statements runs queries as prepared statements, prepared on first use.
type statements struct {
	connection

	mu     sync.RWMutex
	byText map[string]*sql.Stmt
}

func newStatements(on connection) *statements {
	return &statements{connection: on, byText: make(map[string]*sql.Stmt)}
}

// prepareStatement returns a prepared statement; nil if it should not be cached.
func (s *statements) prepareStatement(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, full := s.byText[query], len(s.byText) >= maxStatements
	s.mu.RUnlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := s.PrepareContext(ctx, sqlstore.RewriteForSQLite(query))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byText[query]; known != nil {
		return known, stmt.Close()
	}
	s.byText[query] = stmt
	return stmt, nil
}

// ExecContext executes a query without rows.
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.prepareStatement(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.connection.ExecContext(ctx, sqlstore.RewriteForSQLite(query), args...)
	default:
		return stmt.ExecContext(ctx, args...)
	}
}

// QueryContext executes a query with rows.
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepareStatement(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case stmt == nil:
		return s.connection.QueryContext(ctx, sqlstore.RewriteForSQLite(query), args...)
	default:
		return stmt.QueryContext(ctx, args...)
	}
}

// QueryRowContext executes a query with one row.
func (s *statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := s.prepareStatement(ctx, query)
	if err != nil || stmt == nil {
		return s.connection.QueryRowContext(ctx, sqlstore.RewriteForSQLite(query), args...) // it returns the same error
	}
	return stmt.QueryRowContext(ctx, args...)
}

// close closes the statements.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, 0, len(s.byText))
	for _, stmt := range s.byText {
		errs = append(errs, stmt.Close())
	}
	clear(s.byText)
	return errors.Join(errs...)
}
