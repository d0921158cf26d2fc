package postgres

import (
	"context"
	"embed"
	"errors"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/internal/migration"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the advisory lock of those who migrate: "agentrun" in ASCII.
const migrationLock int64 = 0x6167656e7472756e

// Migrate makes the tables of a database, or brings them up to date, and returns
// the names of the migrations that it made. Several processes may do so at once:
// one migrates, and the others wait for it. Tables of a newer program give a
// *store.SchemaError.
func Migrate(ctx context.Context, s store.Settings) (applied []string, err error) {
	config, err := poolConfig(s.DSN)
	if err != nil {
		return nil, err
	}
	lock, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, wrapUnreachable("migrate PostgreSQL", err)
	}
	// The lock goes with its connection.
	defer func() { err = errors.Join(err, lock.Close(context.WithoutCancel(ctx))) }()
	if _, err := lock.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return nil, wrapUnreachable("migrate PostgreSQL: wait for others who do", err)
	}
	return migrate(ctx, config.ConnConfig)
}

func migrate(ctx context.Context, config *pgx.ConnConfig) (applied []string, err error) {
	conn := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, conn.Close()) }()
	applied, err = migration.Apply(ctx, "database", goose.DialectPostgres, conn, migrations)
	if err != nil {
		return nil, wrapUnreachable("migrate PostgreSQL", err)
	}
	return applied, nil
}

// checkSchema compares the version of the tables with that of the program.
func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	var have int64
	err := pool.QueryRow(ctx, migration.SelectVersion).Scan(&have)
	if errorCode(err) == codeUndefinedTable {
		err = nil // nobody migrated it
	}
	if err != nil {
		return wrapUnreachable("open PostgreSQL", err)
	}
	return migration.Check("database", have, migrations)
}

const codeUndefinedTable = "42P01"
