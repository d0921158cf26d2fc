package agents

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/agentstest"
	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// opener opens a store and the queue of its turns.
type opener func(t testing.TB) (store.Store, dispatch.Dispatcher)

func queue() dispatch.Dispatcher { return local.New(local.Settings{Concurrency: 8}) }

func onMemory(testing.TB) (store.Store, dispatch.Dispatcher) {
	return memory.New(store.Settings{}), queue()
}

func onSQLite(t testing.TB) (store.Store, dispatch.Dispatcher) {
	settings := store.Settings{DSN: filepath.Join(t.TempDir(), "turns.db")}
	if _, err := sqlite.Migrate(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	kept, err := sqlite.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	return kept, queue()
}

// onPostgres makes a database of its own for the stores of a test.
func onPostgres(t *testing.T) opener {
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
		if !migrated {
			if _, err := river.Migrate(t.Context(), kept.Pool()); err != nil {
				t.Fatal(err)
			}
			migrated = true
		}
		work, err := river.New(kept.Pool(), river.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return kept, work
	}
}

// TestConformanceOverHTTP runs the cases of the specification over HTTP, on all stores.
func TestConformanceOverHTTP(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) opener{
		"memory": func(*testing.T) opener { return onMemory }, "sqlite": func(*testing.T) opener { return onSQLite }, "postgres": onPostgres,
	}
	for name, prepare := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := prepare(t)
			agentstest.Run(t, func(t *testing.T) (*agentstest.World, agentstest.Driver) {
				kept, work := open(t)
				t.Cleanup(func() { // after the service
					if err := kept.Close(); err != nil {
						t.Error(err)
					}
				})
				w := agentstest.New(t, kept, work)
				site := &world{t: t, service: w.Service}
				drain := site.listen(Settings{Agents: w.Set})
				t.Cleanup(func() {
					if err := drain(); err != nil {
						t.Error(err)
					}
				})
				client := &http.Client{Transport: openapitest.AnswerTransport(t, &http.Transport{DisableKeepAlives: true}, site.describe)}
				return w, agentstest.OverHTTP(client, site.url+"/agents", http.Header{"Authorization": {"Bearer alice"}})
			}, notOverHTTP)
		})
	}
}

// notOverHTTP are the cases that cannot be said over HTTP, with the reason.
var notOverHTTP = map[string]string{
	"pure detach without payload": "a request carries one input, so no second one can detach the turn of the first",
}
