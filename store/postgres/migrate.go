package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where the migrations that were made are listed.
const versionTable = "agentruntime_migrations"

// migrationLock is the advisory lock of those who migrate: "agentrun" in ASCII.
const migrationLock int64 = 0x6167656e7472756e

// SchemaError says that the tables of a database are not those that this
// program works with.
type SchemaError struct {
	// Have is the version of the tables, 0 when there are none, and Want that of
	// this program.
	Have, Want int64
}

// Error says what to do about it.
func (e *SchemaError) Error() string {
	if e.Have > e.Want {
		return fmt.Sprintf("the database has tables of version %d, and this program knows %d: run a newer release", e.Have, e.Want)
	}
	return fmt.Sprintf("the database has tables of version %d, and this program needs %d: migrate it first", e.Have, e.Want)
}

// Migrate makes the tables of a database, or brings them up to date, and returns
// the names of the migrations that it made. Several processes may do so at once:
// one migrates, and the others wait for it. Tables of a newer program give a
// *SchemaError.
func Migrate(ctx context.Context, s store.Settings) (applied []string, err error) {
	config, err := poolConfig(s.DSN)
	if err != nil {
		return nil, err
	}
	lock, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	// The lock goes with its connection.
	defer func() { err = errors.Join(err, lock.Close(context.WithoutCancel(ctx))) }()
	if _, err := lock.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return nil, fmt.Errorf("migrate PostgreSQL: wait for others who do: %w", err)
	}
	return migrate(ctx, config.ConnConfig)
}

func migrate(ctx context.Context, config *pgx.ConnConfig) (applied []string, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	conn := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, conn.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	if have > want {
		return nil, &SchemaError{have, want}
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	for _, r := range results {
		applied = append(applied, path.Base(r.Source.Path))
	}
	return applied, nil
}

// checkSchema compares the version of the tables with that of the program.
func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	want, err := schemaVersion()
	if err != nil {
		return err
	}
	var have int64
	err = pool.QueryRow(ctx, "SELECT COALESCE(max(version_id), 0) FROM "+versionTable+" WHERE is_applied").Scan(&have)
	if code(err) == codeUndefinedTable {
		err = nil // nobody migrated it
	}
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	if have != want {
		return &SchemaError{have, want}
	}
	return nil
}

const codeUndefinedTable = "42P01"

// schemaVersion returns the version that the migrations lead to.
func schemaVersion() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("there are no migrations: %w", err)
	}
	return goose.NumericComponent(names[len(names)-1])
}
