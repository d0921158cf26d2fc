//go:build unix

package mcp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
)

// space returns a workspace whose work begins in app, and the directory app.
func space(t *testing.T) (w *tools.Workspace, app string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	app = filepath.Join(root, "app")
	if err := os.Mkdir(app, 0o700); err != nil {
		t.Fatal(err)
	}
	return &tools.Workspace{Root: root, Cwd: "app"}, app
}

// callIn asks the program for the directory that it runs in.
func callIn(t *testing.T, s *server, w *tools.Workspace) string {
	t.Helper()
	r := entries(t, s)["mcp__fake__directory"].Execute(t.Context(), &tools.Call{ID: "call_1", Arguments: []byte(`{}`), Host: new(host), Workspace: w})
	return model.PartsText(r.Content)
}

func TestAProgramRunsInTheWorkspaceOfTheSession(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	first, firstDir := space(t)
	second, secondDir := space(t)
	for range 2 {
		if got := callIn(t, s, first); got != firstDir {
			t.Errorf("it runs in %s, want %s", got, firstDir)
		}
		if got := callIn(t, s, second); got != secondDir {
			t.Errorf("it runs in %s, want %s", got, secondDir)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := callIn(t, s, nil); got != here {
		t.Errorf("without a workspace it runs in %s, want %s", got, here)
	}
	if got := notes(&s.config); len(got) != 3 {
		t.Errorf("there are not three programs: %q", got)
	}
	if got, want := callIn(t, s, &tools.Workspace{Root: first.Root, Cwd: "none"}), "the workspace of the session has no directory none"; got != want {
		t.Errorf("a workspace that is gone: %s, want %s", got, want)
	}
	c := local(t, "fake")
	c.Dir = t.TempDir()
	fixed := ready(t, c)
	if got := callIn(t, fixed, first); filepath.Base(got) != filepath.Base(c.Dir) {
		t.Errorf("a program with a directory of its own runs in %s, want %s", got, c.Dir)
	}
}

func TestAProgramLeavesAnIdleWorkspace(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "fake"))
	s.places.idle = 10 * time.Millisecond
	w, dir := space(t)
	if got := callIn(t, s, w); got != dir {
		t.Fatalf("it runs in %s", got)
	}
	soon(t, "end of the idle program", func() bool {
		s.places.mu.Lock()
		defer s.places.mu.Unlock()
		return len(s.places.open) == 0
	})
	if got := callIn(t, s, w); got != dir {
		t.Errorf("afterwards it runs in %s", got)
	}
}
