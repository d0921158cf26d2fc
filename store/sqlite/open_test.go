package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/google/go-cmp/cmp"
)

func TestASecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	pid, _ := startOther(t, path)
	var locked *store.LockedError
	if _, err := sqlite.Open(t.Context(), store.Settings{DSN: path}); !errors.As(err, &locked) || locked.PID != pid || locked.Path != path {
		t.Errorf("Open: %v", err)
	}
	if _, err := sqlite.Migrate(t.Context(), store.Settings{DSN: path}); !errors.As(err, &locked) {
		t.Errorf("Migrate: %v", err)
	}
}

func TestAFileCanBeReadWhileAnotherProcessHasItOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	startOther(t, path)
	s := readOnly(t, path)
	turns, err := s.Turns(t.Context(), store.TurnQuery{Scope: store.Everything})
	if err != nil || len(turns.Turns) != 1 || turns.Turns[0].Seq != 3 {
		t.Errorf("turns: %+v, %v", turns, err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func readOnly(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenReadOnly(t.Context(), store.Settings{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestAStoreThatOnlyReadsRefusesToWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	s, err := sqlite.Open(t.Context(), store.Settings{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	newSession(t, s, "session")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	reader := readOnly(t, path)
	for name, write := range map[string]func() error{
		"create session": func() error { _, err := reader.CreateSession(t.Context(), sessionOf("other")); return err },
		"create turn":    func() error { _, err := reader.CreateTurn(t.Context(), newTurn("session", "turn")); return err },
		"delete session": func() error { return reader.DeleteSession(t.Context(), store.Everything, "session") },
		"commit":         func() error { return reader.Commit(t.Context(), commit("turn", 1, 0, 1)) },
		"reap":           func() error { _, err := reader.Reap(t.Context(), startTurn); return err },
	} {
		if err := write(); !errors.Is(err, sqlite.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader.Session(t.Context(), store.Of(owner), "session"); err != nil {
		t.Error(err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"other file":      {func(t *testing.T, path string) { overwrite(t, path, bytes.Repeat([]byte("text "), 2000)) }, "not a SQLite database, or is damaged"},
		"damaged":         {damage, "not a SQLite database, or is damaged"},
		"of another one":  {func(t *testing.T, path string) { execute(t, path, "CREATE TABLE songs (name)") }, "of another program"},
		"of a newer one":  {newer, "tables of version 99"},
		"a directory":     {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "is a directory"},
		"without a place": {func(t *testing.T, path string) { overwrite(t, filepath.Dir(path), nil) }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "runtime.db")
			if name != "without a place" {
				must(t, os.Mkdir(filepath.Dir(path), 0o700))
			}
			test.make(t, path)
			for _, open := range []func() error{
				func() error { _, err := sqlite.Open(t.Context(), store.Settings{DSN: path}); return err },
				func() error { _, err := sqlite.Migrate(t.Context(), store.Settings{DSN: path}); return err },
			} {
				err := open()
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

// damage makes a file whose first table is overwritten.
func damage(t *testing.T, path string) {
	s, err := sqlite.Open(t.Context(), store.Settings{DSN: path})
	must(t, err)
	must(t, s.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	overwrite(t, path, append(data[:100:100], bytes.Repeat([]byte{0xab}, len(data)-100)...))
}

func newer(t *testing.T, path string) {
	s, err := sqlite.Open(t.Context(), store.Settings{DSN: path})
	must(t, err)
	must(t, s.Close())
	execute(t, path, "INSERT INTO agentruntime_migrations (version_id, is_applied) VALUES (99, 1)")
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	conn, err := sql.Open("sqlite", path)
	must(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), statement)
	must(t, err)
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfAnotherProgramIsNotTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "songs.db")
	execute(t, path, "CREATE TABLE songs (name)")
	before, err := os.ReadFile(path)
	must(t, err)
	for _, open := range []func(context.Context, store.Settings) (*sqlite.Store, error){sqlite.Open, sqlite.OpenReadOnly} {
		if s, err := open(t.Context(), store.Settings{DSN: path}); err == nil {
			t.Error("it was opened", s.Close())
		}
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("it was changed")
	}
}

func TestAStoreThatOnlyReadsWantsTheTablesItKnows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	if _, err := sqlite.OpenReadOnly(t.Context(), store.Settings{DSN: path}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	newer(t, path)
	var schema *store.SchemaError
	if _, err := sqlite.OpenReadOnly(t.Context(), store.Settings{DSN: path}); !errors.As(err, &schema) || schema.Have != 99 || schema.Want != newestVersion(t) {
		t.Errorf("a newer file: %v", err)
	}
}

// migrationFiles returns the names of all migrations in their order.
func migrationFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("migrations/*.sql")
	must(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

// newestVersion returns the version of the newest migration.
func newestVersion(t *testing.T) (version int64) {
	t.Helper()
	files := migrationFiles(t)
	_, err := fmt.Sscanf(files[len(files)-1], "%d_", &version)
	must(t, err)
	return version
}

func TestMigrateSaysWhatItDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.db")
	for _, want := range [][]string{migrationFiles(t), nil} {
		applied, err := sqlite.Migrate(t.Context(), store.Settings{DSN: path})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, applied); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOpenWantsAPath(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), store.Settings{}); err == nil || !strings.Contains(err.Error(), "path of a file") {
		t.Errorf("the error is %v", err)
	}
	odd := filepath.Join(t.TempDir(), "a?b#c%20d e.db")
	fullTurn(t, reopen(t, odd))
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
}
