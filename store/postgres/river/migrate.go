package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// migrationLock is the advisory lock for migrating River's tables: "rivr" and "turn" as numbers.
const migrationLock = 0x72697672_7475726e

// Migrate updates River's tables, and returns the names of the applied migrations. Replicas that
// start at the same time wait for one another, each with a connection outside the pool.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (applied []string, err error) {
	unlock, err := lockMigration(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	done, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return nil, fmt.Errorf("migrate the queue: %w", err)
	}
	for _, v := range done.Versions {
		applied = append(applied, fmt.Sprintf("%03d %s", v.Version, v.Name))
	}
	return applied, nil
}

// lockMigration takes the advisory lock on a separate connection, because the migrations may need
// the pool's last one. It is a transaction lock, because a pooler would pass a session lock to
// other clients.
func lockMigration(ctx context.Context, pool *pgxpool.Pool) (unlock func() error, err error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	unlock = func() error {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return conn.Close(end)
	}
	tx, err := conn.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	}
	if err == nil {
		_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock))
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}
