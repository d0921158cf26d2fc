//go:build unix

package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/gittest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workspace"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap/zaptest"
)

// spaces makes a service prepare workspaces below a directory, from repositories of files
// below another one.
func spaces(t testing.TB, dir, repositories string) setting {
	t.Helper()
	m, err := workspace.New(workspace.Settings{
		Dir: dir, Store: "test", Repositories: []string{repositories + "/*"}, Protocols: []string{"file"}, Roots: []string{repositories},
		Timeout: time.Minute, MaxBytes: 64 << 20, Logger: zaptest.NewLogger(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(s *service.Settings) { s.Workspaces = m }
}

// checkout asks for a repository at app, where work begins.
func checkout(address string) *workspace.Request {
	return &workspace.Request{Checkouts: []workspace.Checkout{{URL: address, Path: "app"}}, Cwd: "app"}
}

// made returns the workspaces that there are, without locks.
func made(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "test", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestASessionHasItsWorkspaceUntilItIsArchived(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	runs := filepath.Join(t.TempDir(), "runs")
	hook := shell("setup", `echo x >> "$RUNS"; cat a.txt; git rev-parse --show-prefix; pwd | sed 's/.*~[^/]*//'`)
	hook.Env, hook.Output = map[string]string{"RUNS": runs}, spec.HookOutput{AdditionalContext: true}
	kept := newMemory(t)
	s := hooked(t, []spec.SessionHook{hook}, on(kept), spaces(t, dir, base))
	asked := service.CreateSession{AgentID: "parrot", IdempotencyKey: "k", Workspace: checkout(app.URL)}
	first, err := s.CreateSession(t.Context(), alice, asked)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.CreateSession(t.Context(), alice, asked)
	if err != nil || again.ID != first.ID || len(made(t, dir)) != 1 {
		t.Fatalf("a repetition gives %+v, %v and %v", again, err, made(t, dir))
	}
	if got, want := ended(t, s, create(t, s, says(first.ID, "hi")).ID).Outcome.Response, "# Session start context\n\none\n\n/app"; got != want {
		t.Errorf("the hook ran elsewhere: the turn begins with %q, want %q", got, want)
	}
	archived := store.SessionArchived
	if _, err := s.UpdateSession(t.Context(), alice, first.ID, service.SessionPatch{State: &archived}); err != nil {
		t.Fatal(err)
	}
	if left := made(t, dir); len(left) != 0 {
		t.Errorf("the archived session leaves %v", left)
	}
	active := store.SessionActive
	if _, err := s.UpdateSession(t.Context(), alice, first.ID, service.SessionPatch{State: &active}); err != nil {
		t.Fatal(err)
	}
	if turn := ended(t, s, create(t, s, says(first.ID, "hi")).ID); turn.Outcome.Termination.Code != service.CodeWorkspace {
		t.Errorf("a turn without its workspace ends with %+v", turn.Outcome.Termination)
	}
	asked.IdempotencyKey = "l"
	other, err := s.CreateSession(t.Context(), alice, asked)
	if err != nil || len(made(t, dir)) != 1 {
		t.Fatalf("%v, %v", made(t, dir), err)
	}
	if err := s.DeleteSession(t.Context(), alice, other.ID); err != nil {
		t.Fatal(err)
	}
	if left := made(t, dir); len(left) != 0 {
		t.Errorf("the deleted session leaves %v", left)
	}
	if data, err := os.ReadFile(runs); err != nil || strings.Count(string(data), "x") != 2 {
		t.Errorf("the hook ran %q, %v", data, err)
	}
}

func TestAWorkspaceThatFailsLeavesNoSession(t *testing.T) {
	base, dir := t.TempDir(), t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	kept := newMemory(t)
	s := hooked(t, []spec.SessionHook{shell("fails", "exit 3")}, on(kept), spaces(t, dir, base))
	for name, asked := range map[string]service.CreateSession{
		"checkout":  {ID: "mine", AgentID: "plain", Workspace: checkout(app.URL + ".none")},
		"policy":    {ID: "mine", AgentID: "plain", Workspace: checkout("file:///srv/other.git")},
		"hook":      {ID: "mine", AgentID: "parrot", Workspace: checkout(app.URL)},
		"both":      {ID: "mine", AgentID: "plain", Workspace: checkout(app.URL), Prepared: &workspace.Prepared{}},
		"elsewhere": {ID: "mine", AgentID: "plain", Prepared: &workspace.Prepared{Root: dir, Cwd: dir}},
	} {
		if _, err := s.CreateSession(t.Context(), alice, asked); err == nil {
			t.Errorf("%s: there is a session", name)
		}
		if _, err := kept.Session(t.Context(), store.Everything, "mine"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: a session is stored: %v", name, err)
		}
		if left := made(t, dir); len(left) != 0 {
			t.Errorf("%s: left are %v", name, left)
		}
	}
	if _, err := hooked(t, nil).CreateSession(t.Context(), alice, service.CreateSession{AgentID: "plain", Workspace: checkout(app.URL)}); !errors.As(err, new(*workspace.PolicyError)) {
		t.Errorf("without a configuration: %v", err)
	}
}

func TestCallersCannotNameAWorkspace(t *testing.T) {
	s := hooked(t, nil)
	for _, forged := range []string{`{"__gestalt.workspace":{"root":"/etc","cwd":"."}}`, `{"__gestalt.workspace.x":1}`} {
		var invalid *service.InvalidError
		if _, err := s.CreateSession(t.Context(), alice, service.CreateSession{AgentID: "plain", Metadata: json.RawMessage(forged)}); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", forged, err)
		}
	}
}

// These variables make the test binary a runtime that is killed while it prepares a
// workspace: the directory of the workspaces.
const killedSpaces = "SERVICE_TEST_SPACES"

func TestAKilledPreparationIsRepeatedAtOnce(t *testing.T) {
	if dir := os.Getenv(killedSpaces); dir != "" {
		dieWhilePreparing(t, dir)
	}
	base, dir := t.TempDir(), t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledPreparationIsRepeatedAtOnce$")
	cmd.Env = append(os.Environ(), killedSpaces+"="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the runtime was not killed: %v\n%s", err, out)
	}
	left := made(t, dir)
	if len(left) != 2 { // the directory and its lock
		t.Fatalf("the killed process leaves %v", left)
	}
	kept, until := newMemory(t), time.Now().Add(time.Hour).UTC()
	begun := &store.NewSession{Session: store.Session{ // what the process had stored
		ID: "mine", Owner: store.Owner{Tenant: "acme", Subject: "alice"}, AgentID: "parrot", State: store.SessionStarting,
		Metadata: json.RawMessage(`{"_starting_until":"` + until.Format(time.RFC3339Nano) + `","_starting_token":"dead"}`), CreatedAt: until, UpdatedAt: until, ActiveAt: until,
	}}
	if _, err := kept.CreateSession(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	s := idle(t, hooked(t, nil).Runtime(), on(kept), spaces(t, dir, base))
	if made, err := s.CreateSession(t.Context(), alice, service.CreateSession{ID: "mine", AgentID: "parrot", Workspace: checkout(app.URL)}); err != nil || made.State != store.SessionActive {
		t.Fatalf("the session is %+v, %v", made, err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if now := made(t, dir); len(now) != 1 {
			return "left are " + strings.Join(now, " ")
		}
		return ""
	})
	turn := ended(t, s, create(t, s, says("mine", "hi")).ID)
	if turn.Outcome.Termination.Code != "" {
		t.Errorf("a turn in the new workspace: %+v", turn.Outcome.Termination)
	}
}

// dieWhilePreparing claims a workspace as a request does, and kills this process.
func dieWhilePreparing(t *testing.T, dir string) {
	m, err := workspace.New(workspace.Settings{Dir: dir, Store: "test", Logger: zaptest.NewLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Claim("mine", "dead"); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	_ = self.Kill()
	<-context.Background().Done()
}
