package river_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/dispatch/dispatchtest"
	"github.com/agentruntime/agentruntime/dispatch/river"
	"github.com/agentruntime/agentruntime/internal/pgtest"
	"github.com/jackc/pgx/v5/pgxpool"
)

func TestDispatcherDoesWhatDispatchersDo(t *testing.T) {
	dispatchtest.Run(t, func(t *testing.T, concurrency int) dispatch.Dispatcher {
		return newDispatcher(t, newPool(t), river.Settings{Concurrency: concurrency})
	})
}

// newPool returns a pool on a database of its own that is migrated.
func newPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool := connect(t, pgtest.Start(t).Database(t))
	if _, err := river.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

func connect(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func newDispatcher(t testing.TB, pool *pgxpool.Pool, s river.Settings) *river.Dispatcher {
	t.Helper()
	d, err := river.New(pool, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return d
}
