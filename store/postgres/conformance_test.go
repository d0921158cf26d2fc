package postgres_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/dispatchtest"
	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/jackc/pgx/v5"
)

func TestItIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openEmptied(database(t)))
}

func TestItFollowsTheModel(t *testing.T) {
	t.Parallel()
	storetest.RunModel(t, openEmptied(database(t)))
}

// openEmptied returns a function that opens stores with one database, one after the
// other, and empties it before: making a database takes much longer.
func openEmptied(shared store.Settings) func(*testing.T, store.Settings) store.Store {
	return func(t *testing.T, s store.Settings) store.Store {
		s.DSN = shared.DSN
		opened := open(t, s)
		emptyTables(t, opened)
		return opened
	}
}

// emptyTables deletes all rows. TRUNCATE would give each table and index a new file,
// which takes much longer.
func emptyTables(t *testing.T, s *postgres.Store) {
	t.Helper()
	var statements strings.Builder
	for _, table := range []string{
		"session_labels", "turn_states", "events", "messages", "journal", "interactions", "snapshots", "artifacts", "turns", "sessions",
		"idempotency_keys", "webhooks", "revoked_tokens", "revisions", "revision_documents", "revision_builds", "revision_attempts",
		"tenant_variables", "workflow_runs", "workflow_cursors", "workflow_triggers", "usage_hours", "replicas",
	} {
		statements.WriteString("DELETE FROM " + table + ";")
	}
	if _, err := s.Pool().Exec(t.Context(), statements.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func TestNotifierConformance(t *testing.T) {
	t.Parallel()
	dispatchtest.RunNotifiers(t, func(t *testing.T) (sender, heard dispatch.Notifier) {
		settings := database(t)
		return open(t, settings).Notifier(), open(t, settings).Notifier()
	})
}
