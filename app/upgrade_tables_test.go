package app_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/sqlite"
)

// TestUpgradesHaveARowOfEachTable fails for a database table without rows in that database's dumps
// of TestEveryStoredLayoutIsReadAndContinued.
func TestUpgradesHaveARowOfEachTable(t *testing.T) {
	t.Parallel()
	for kind, list := range map[string]string{
		"sqlite":   "SELECT group_concat(name, ' ') FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
		"postgres": "SELECT string_agg(table_name, ' ') FROM information_schema.tables WHERE table_schema = 'public'",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			u := &upgraded{kind: kind, driver: "sqlite", dsn: filepath.Join(t.TempDir(), "runtime.db"), migrate: sqlite.Migrate}
			if kind == "postgres" {
				u.driver, u.dsn, u.migrate = "pgx", pgtest.New(t).Database(t), postgres.Migrate
			}
			if _, err := u.migrate(t.Context(), store.Settings{DSN: u.dsn}); err != nil {
				t.Fatal(err)
			}
			dumped := dumpedTables(t, kind)
			for _, table := range u.tables(t, list) {
				// The queue contains only retained jobs, and replicas expire within seconds; the migrations
				// are texts without a layout.
				if !dumped[table] && table != "agentruntime_migrations" && table != "replicas" && !strings.HasPrefix(table, "river_") {
					t.Errorf("no dump has a row of %s: let testdata/upgrade/generate.py make one", table)
				}
			}
		})
	}
}

// dumpedTables returns the tables with rows in the dumps of a database kind.
func dumpedTables(t *testing.T, kind string) map[string]bool {
	t.Helper()
	dumps, err := filepath.Glob("testdata/upgrade/*-" + kind + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]bool{}
	for _, dump := range dumps {
		rows, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^INSERT INTO (?:public\.)?(\w+)`).FindAllStringSubmatch(string(rows), -1) {
			tables[m[1]] = true
		}
	}
	return tables
}

// tables returns the names of a database's tables.
func (u *upgraded) tables(t *testing.T, query string) []string {
	t.Helper()
	conn, err := sql.Open(u.driver, u.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var names string
	if err := conn.QueryRowContext(t.Context(), query).Scan(&names); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(names)
}
