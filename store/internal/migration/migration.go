// Package migration brings the tables of a store up to date, and reports which
// version they have.
package migration

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"

	"github.com/agentruntime/agentruntime/store"
	"github.com/pressly/goose/v3"
)

// Table is where the migrations that were made are listed.
const Table = "agentruntime_migrations"

// SelectVersion selects the version of the tables, or 0 if none.
const SelectVersion = "SELECT COALESCE(max(version_id), 0) FROM " + Table + " WHERE is_applied"

// Apply makes the migrations that are missing and returns their names. Tables of
// a newer program give a *store.SchemaError; kind is what holds them.
func Apply(ctx context.Context, kind string, dialect goose.Dialect, conn *sql.DB, migrations fs.FS) (applied []string, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(dialect, conn, files, goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, err
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return nil, err
	}
	if have > want {
		return nil, &store.SchemaError{Kind: kind, Have: have, Want: want}
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		applied = append(applied, path.Base(r.Source.Path))
	}
	return applied, err
}

// Check returns a *store.SchemaError for tables whose version is not the one that
// the migrations lead to.
func Check(kind string, have int64, migrations fs.FS) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("there are no migrations: %w", err)
	}
	want, err := goose.NumericComponent(names[len(names)-1])
	if err == nil && have != want {
		err = &store.SchemaError{Kind: kind, Have: have, Want: want}
	}
	return err
}
