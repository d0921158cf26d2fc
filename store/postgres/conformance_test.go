package postgres_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/dispatch"
	"github.com/agentruntime/agentruntime/internal/testkit/dispatchtest"
	"github.com/agentruntime/agentruntime/internal/testkit/storetest"
	"github.com/agentruntime/agentruntime/store"
)

func TestItIsAStore(t *testing.T) {
	t.Parallel()
	// One database is emptied again and again: making one takes much longer.
	shared := database(t)
	storetest.Run(t, func(t *testing.T, s store.Settings) store.Store {
		s.DSN = shared.DSN
		opened := open(t, s)
		if _, err := opened.Pool().Exec(t.Context(), `TRUNCATE sessions, session_labels, turns, turn_states, events, messages, journal, interactions, snapshots, artifacts, idempotency_keys, webhooks, revoked_tokens, revisions, revision_documents, revision_builds, revision_attempts, tenant_variables, workflow_runs, workflow_cursors, workflow_triggers`); err != nil {
			t.Fatal(err)
		}
		return opened
	})
}

func TestItsBellIsABell(t *testing.T) {
	t.Parallel()
	dispatchtest.RunBells(t, func(t *testing.T) (rung, heard dispatch.Bell) {
		settings := database(t)
		return open(t, settings).Bell(), open(t, settings).Bell()
	})
}
