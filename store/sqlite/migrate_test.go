package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/pressly/goose/v3"
)

// TestOldTurnsHaveTheirLastChange holds for a file that was made before it was
// noted when the state of a turn changed.
func TestOldTurnsHaveTheirLastChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	conn, err := sql.Open("sqlite", path)
	must(t, err)
	provider, err := goose.NewProvider(goose.DialectSQLite3, conn, os.DirFS("migrations"), goose.WithTableName("agentruntime_migrations"))
	must(t, err)
	_, err = provider.UpTo(t.Context(), 1)
	must(t, err)
	must(t, conn.Close())
	execute(t, path, `INSERT INTO sessions (id, tenant, subject, agent_id, state, tip, created_at, updated_at, active_at, last_turn_at)
		VALUES ('s', 'acme', 'ann', 'helper', 'active', '', 1000000, 1000000, 1000000, 0)`)
	execute(t, path, `INSERT INTO turns (id, session_id, tenant, subject, agent_id, status, background, snapshot_id, parent_snapshot_id, from_start,
		created_at, updated_at, not_before, admitted, finished_at)
		VALUES ('t', 's', 'acme', 'ann', 'helper', 'succeeded', 0, '', '', 0, 1000000, 7000000, 0, 0, 7000000)`)

	s := openWith(t, store.Settings{DSN: path})
	page, err := s.Turns(t.Context(), store.TurnQuery{Scope: store.Of(owner), ByChange: true})
	must(t, err)
	if len(page.Turns) != 1 || !page.Turns[0].ChangedAt.Equal(time.Unix(7, 0)) {
		t.Errorf("the turns are %+v", page.Turns)
	}
	_, err = s.SaveWebhook(t.Context(), &store.NewWebhook{Scope: store.Of(owner), Webhook: store.Webhook{
		ID: "h", TurnID: "t", Surface: "test", CreatedAt: time.Unix(8, 0),
	}})
	must(t, err)
}
