// Package migration brings the tables of a store up to date and reports their version.
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

// Table is the table that lists the applied migrations.
const Table = "agentruntime_migrations"

// pattern matches the migration files. Each is an up-only script that runs in a transaction.
const pattern = "migrations/*.sql"

// SelectVersion selects the version of the tables, or 0 if none.
const SelectVersion = "SELECT COALESCE(max(version_id), 0) FROM " + Table + " WHERE is_applied"

// Apply applies the missing migrations and returns their names. Tables of a newer program cause a
// *store.SchemaError; kind is what holds the tables.
func Apply(ctx context.Context, kind string, dialect goose.Dialect, conn *sql.DB, migrations fs.FS) (applied []string, err error) {
	names, declared, err := declareMigrations(migrations)
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(dialect, conn, nil, goose.WithGoMigrations(declared...), goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // numbers are reserved before the migrations are written
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
		applied = append(applied, names[r.Source.Version])
	}
	return applied, err
}

// Create runs all migrations on an empty database that is never updated, and does not record them.
func Create(ctx context.Context, conn *sql.Conn, migrations fs.FS) error {
	files, err := fs.Glob(migrations, pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		script, err := fs.ReadFile(migrations, file)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", path.Base(file), err)
		}
	}
	return nil
}

// declareMigrations returns the migrations and their file names by version. Each file is passed to
// the database as a whole: goose's parser, which splits files into statements, takes 4 MB per line.
func declareMigrations(migrations fs.FS) (names map[int64]string, declared []*goose.Migration, err error) {
	files, err := fs.Glob(migrations, pattern)
	if err != nil {
		return nil, nil, err
	}
	names = make(map[int64]string, len(files))
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, nil, err
		}
		script, err := fs.ReadFile(migrations, file)
		if err != nil {
			return nil, nil, err
		}
		names[version] = path.Base(file)
		declared = append(declared, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, string(script)); err != nil {
				return fmt.Errorf("%s: %w", path.Base(file), err)
			}
			return nil
		}}, nil))
	}
	return names, declared, nil
}

// Check returns a *store.SchemaError if the tables' version differs from the version that the
// migrations produce.
func Check(kind string, have int64, migrations fs.FS) error {
	names, err := fs.Glob(migrations, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("there are no migrations: %w", err)
	}
	want, err := goose.NumericComponent(names[len(names)-1])
	if err == nil && have != want {
		err = &store.SchemaError{Kind: kind, Have: have, Want: want}
	}
	return err
}
