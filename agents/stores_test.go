package agents_test

import (
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// opener opens a store that is closed with the test, and its queue.
type opener func(t testing.TB) (store.Store, dispatch.Dispatcher)

// eachStore runs a test on every store. All opens within one test use the same database.
func eachStore(t *testing.T, test func(t *testing.T, open opener)) {
	for name, prepare := range map[string]func(t testing.TB) opener{"memory": onMemory, "sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) { test(t, prepare(t)) })
	}
}

func onMemory(testing.TB) opener {
	return func(t testing.TB) (store.Store, dispatch.Dispatcher) {
		return closing(t, memory.New(store.Settings{})), newQueue()
	}
}

func onSQLite(testing.TB) opener {
	return func(t testing.TB) (store.Store, dispatch.Dispatcher) {
		settings := store.Settings{DSN: filepath.Join(t.TempDir(), "turns.db")}
		if _, err := sqlite.Migrate(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
		kept, err := sqlite.Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		return closing(t, kept), newQueue()
	}
}

func onPostgres(t testing.TB) opener {
	settings := store.Settings{DSN: pgtest.Start(t).Database(t)}
	if _, err := postgres.Migrate(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	migrated := false
	return func(t testing.TB) (store.Store, dispatch.Dispatcher) {
		kept, err := postgres.Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		closing(t, kept)
		if !migrated {
			if _, err := river.Migrate(t.Context(), kept.Pool()); err != nil {
				t.Fatal(err)
			}
			migrated = true
		}
		queue, err := river.New(kept.Pool(), river.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return kept, queue
	}
}

// closing closes a store when the test ends.
func closing[S store.Store](t testing.TB, kept S) S {
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return kept
}

// newQueue returns a queue of this process.
func newQueue() *local.Dispatcher { return local.New(local.Settings{Concurrency: 8}) }
