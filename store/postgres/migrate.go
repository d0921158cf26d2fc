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

// migrationLock is the advisory lock for migrations: "agentrun" in ASCII.
const migrationLock int64 = 0x6167656e7472756e

// Migrate creates the tables of a database or brings them up to date, and returns the names of the
// applied migrations. Several processes may call it concurrently: one migrates, and the others
// wait. It returns a *store.SchemaError for tables of a newer program.
func Migrate(ctx context.Context, s store.Settings) (applied []string, err error) {
	config, err := poolConfig(s.DSN)
	if err != nil {
		return nil, err
	}
	lock, pooled, err := connect(ctx, config.ConnConfig)
	if err != nil {
		return nil, wrapUnreachable("migrate PostgreSQL", err)
	}
	// The lock ends with its transaction, and the transaction with the connection.
	defer func() { err = errors.Join(err, lock.Close(context.WithoutCancel(ctx))) }()
	if err := lockMigration(ctx, lock); err != nil {
		return nil, wrapUnreachable("migrate PostgreSQL: wait for others who do", err)
	}
	setExecMode(config.ConnConfig, pooled)
	return migrate(ctx, config.ConnConfig)
}

// lockMigration begins a transaction that holds the lock. A pooler would hand a session's lock to
// other clients.
func lockMigration(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SET LOCAL "+idleTimeout+" = 0"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, migrationLock)
	return err
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

// checkSchema compares the tables' version with the version this program needs.
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
