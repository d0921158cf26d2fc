package app_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// TestUpgradesHaveARowOfEachTable fails for a table without rows in the dumps of
// TestEveryStoredLayoutIsReadAndContinued.
func TestUpgradesHaveARowOfEachTable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"agentruntime_migrations": true, "held_overlays": true, "model_requests": true} // two texts, without a layout, and a new table
	dumps, err := filepath.Glob("testdata/upgrade/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, dump := range dumps {
		rows, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^INSERT INTO (?:public\.)?(\w+)`).FindAllStringSubmatch(string(rows), -1) {
			known[m[1]] = true
		}
	}
	file := filepath.Join(t.TempDir(), "runtime.db")
	if _, err := sqlite.Migrate(t.Context(), store.Settings{DSN: file}); err != nil {
		t.Fatal(err)
	}
	conn, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var tables string
	if err := conn.QueryRowContext(t.Context(), "SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").Scan(&tables); err != nil {
		t.Fatal(err)
	}
	for table := range strings.FieldsSeq(tables) {
		if !known[table] {
			t.Errorf("no dump has a row of %s: let testdata/upgrade/generate.py make one", table)
		}
	}
}
