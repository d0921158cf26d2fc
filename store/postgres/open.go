package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres/internal/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// Open connects to a database migrated by Migrate. The DSN is a URL or key=value text with libpq's
// parameters and others, such as pool_max_conns (16 by default). A pooler such as PgBouncer is
// detected, in any mode. The server must be PostgreSQL 13 or newer.
//
// Open returns a *store.SchemaError if another version of the program created the database, and
// wraps store.ErrUnavailable if the database cannot be reached. No error contains the password.
func Open(ctx context.Context, s store.Settings) (*Store, error) {
	config, err := poolConfig(s.DSN)
	if err != nil {
		return nil, err
	}
	probe, pooled, err := connect(ctx, config.ConnConfig)
	if err != nil {
		return nil, wrapUnreachable("open PostgreSQL", err)
	}
	if err := probe.Close(ctx); err != nil {
		return nil, wrapUnreachable("open PostgreSQL", err)
	}
	adaptToPooler(config, pooled)
	st := &Store{logger: s.Logger, capacity: capacity{s.TenantTurns, rand.IntN(usageShards)}, pooled: pooled}
	if st.logger == nil {
		st.logger = zap.NewNop()
	}
	config.ConnConfig.OnPgError = st.watchErrors(config.ConnConfig.OnPgError)
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		st.noteReadOnly(conn.PgConn())
		if prepare == nil {
			return nil
		}
		return prepare(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	if err := checkSchema(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	st.pool, st.queries = pool, db.New(pool)
	st.records = st.openRecords()
	st.commits = newCommitter(st)
	st.starts.write, st.sessions.write = st.writeStarts, st.writeSessions
	st.notifier = newNotifier(pool, st.logger, pooled)
	return st, nil
}
