package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// endTurns ends so many turns, each in a session of its own with a megabyte of events.
func endTurns(t *testing.T, s store.Store, turns int) {
	t.Helper()
	for i := range turns {
		session, turn := fmt.Sprintf("session-%d", i), fmt.Sprintf("turn-%d", i)
		newSession(t, s, session)
		c := running(t, s, session, turn)
		step := commit(turn, c.Turn.Fence, 0, 16)
		for j := range step.Events {
			step.Events[j].Data = []byte(`{"delta":"` + strings.Repeat("x", 64<<10) + `"}`)
		}
		must(t, s.Commit(t.Context(), step))
		must(t, s.Commit(t.Context(), finish(c, 16)))
	}
}

// everythingOld is a retention by which all events are too old.
var everythingOld = store.Retention{Now: startTurn.Add(1000 * time.Hour), Events: time.Hour}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

// TestTheFileShrinksWhenOldEventsAreDeleted deletes the events of many turns while
// others write.
func TestTheFileShrinksWhenOldEventsAreDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	s := reopen(t, path)
	const turns = 24
	endTurns(t, s, turns)
	must(t, s.Close())
	full := sizeOf(t, path)
	s = reopen(t, path)
	pruned := make(chan error, 1)
	go func() {
		out, err := s.Prune(t.Context(), everythingOld)
		if err == nil && out.Turns != turns {
			err = fmt.Errorf("%d turns lost their events, want %d", out.Turns, turns)
		}
		pruned <- err
	}()
	writes := 0
	for done := false; !done; {
		newSession(t, s, fmt.Sprintf("other-%d", writes))
		writes++
		select {
		case err := <-pruned:
			must(t, err)
			done = true
		default:
		}
	}
	if left := sizeOf(t, path); left > full/8 {
		t.Errorf("the file has %d bytes, and had %d", left, full)
	}
	if writes < turns { // each turn, and each few pages, are a transaction of their own
		t.Errorf("others wrote %d times meanwhile", writes)
	}
}

// TestAnOldFileShrinksOnceItWasMigrated begins with a file of a version whose files
// kept their size: the log names the remedy, and it helps.
func TestAnOldFileShrinksOnceItWasMigrated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	conn, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = conn.ExecContext(t.Context(), "CREATE TABLE agentruntime_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))")
	must(t, err)
	_, err = conn.ExecContext(t.Context(), "INSERT INTO agentruntime_migrations (version_id, is_applied) VALUES (0, 1)")
	must(t, err)
	must(t, conn.Close())

	core, logged := observer.New(zap.WarnLevel)
	s := openWith(t, store.Settings{DSN: path, Logger: zap.New(core)})
	endTurns(t, s, 20)
	for range 2 {
		_, err = s.Prune(t.Context(), everythingOld)
		must(t, err)
	}
	must(t, s.Close())
	full := sizeOf(t, path)
	if logged.Len() != 1 || !strings.Contains(logged.All()[0].Message, "runtime migrate") || full < 20<<20 {
		t.Errorf("a file of %d bytes is complained about as %v", full, logged.All())
	}

	applied, err := sqlite.Migrate(t.Context(), store.Settings{DSN: path})
	must(t, err)
	if diff := cmp.Diff([]string{"auto_vacuum"}, applied); diff != "" {
		t.Error(diff)
	}
	if left := sizeOf(t, path); left > full/8 {
		t.Errorf("the file has %d bytes, and had %d", left, full)
	}
	if applied, err = sqlite.Migrate(t.Context(), store.Settings{DSN: path}); err != nil || len(applied) > 0 {
		t.Errorf("once more: %v, %v", applied, err)
	}
	if turn, err := reopen(t, path).Turn(t.Context(), store.Everything, "turn-7"); err != nil || turn.Status != store.Succeeded {
		t.Errorf("a turn is %+v, %v", turn, err)
	}
}
