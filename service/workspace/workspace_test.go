//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/gittest"
	"github.com/agentruntime/agentruntime/internal/testkit/needs"
	"github.com/agentruntime/agentruntime/service/workspace"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manager returns a manager that allows the repositories of files below a directory, and
// of loopback, and the directory of its workspaces.
func manager(t testing.TB, repositories string, change ...func(*workspace.Settings)) (*workspace.Manager, string) {
	t.Helper()
	s := workspace.Settings{
		Dir: filepath.Join(t.TempDir(), "spaces"), Store: "test-1",
		Repositories: []string{repositories + "/*", "127.0.0.1*/*", "github.com/acme/*"}, Protocols: []string{"https", "ssh", "http", "git", "file"},
		Timeout: time.Minute, MaxBytes: 64 << 20, Logger: zaptest.NewLogger(t),
	}
	for _, apply := range change {
		apply(&s)
	}
	m, err := workspace.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m, s.Dir
}

// claims counts the attempts, so that each has a name of its own.
var claims atomic.Int64

// prepare makes a workspace.
func prepare(t testing.TB, m *workspace.Manager, r *workspace.Request) (*workspace.Record, error) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := m.Check(r); err != nil {
		return nil, err
	}
	claim, err := m.Claim("s1", strconv.FormatInt(claims.Add(1), 10))
	if err != nil {
		t.Fatal(err)
	}
	record, _, err := claim.Prepare(t.Context(), r)
	if err != nil {
		return nil, errors.Join(err, claim.Discard())
	}
	return record, claim.Keep()
}

func one(address, ref, cwd string) *workspace.Request {
	return &workspace.Request{Checkouts: []workspace.Checkout{{URL: address, Ref: ref, Path: "src/app"}}, Cwd: cwd}
}

// entries returns the names in the directory of the store.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, "test-1"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func TestAWorkspaceHasItsCheckouts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n", "cmd/main.go": "package main\n"})
	docs := gittest.New(t, filepath.Join(base, "docs.git"), map[string]string{"b.txt": "two\n"})
	topic := gittest.Run(t, app.Dir, "rev-parse", "topic")
	for name, tt := range map[string]struct{ ref, commit string }{
		"the default branch": {"", app.Commit}, "a branch": {"topic", topic}, "a tag": {"v1", app.Commit}, "a commit": {topic, topic}, "a full name": {"refs/heads/topic", topic},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir := manager(t, base)
			r := one(app.URL, tt.ref, "src/app/cmd")
			r.Checkouts = append(r.Checkouts, workspace.Checkout{URL: docs.URL, Path: "docs"})
			record, err := prepare(t, m, r)
			if err != nil {
				t.Fatal(err)
			}
			w, err := m.Open(record)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(w.Root, "docs", "b.txt")); err != nil || string(got) != "two\n" {
				t.Errorf("b.txt is %q, %v", got, err)
			}
			if cwd, err := w.Directory(); err != nil || filepath.Base(cwd) != "cmd" {
				t.Errorf("work begins in %q, %v", cwd, err)
			}
			if got := record.Checkouts[0].Commit; got != tt.commit {
				t.Errorf("checked out is %s, want %s", got, tt.commit)
			}
			checkout := filepath.Join(w.Root, "src", "app")
			if head := gittest.Run(t, checkout, "rev-parse", "--abbrev-ref", "HEAD"); head != "HEAD" {
				t.Errorf("HEAD is %s, which is not detached", head)
			}
			if hooks, err := os.ReadDir(filepath.Join(checkout, ".git", "hooks")); err == nil && len(hooks) > 0 {
				t.Errorf("there are hooks: %v", hooks)
			}
			if err := m.Remove(record); err != nil {
				t.Fatal(err)
			}
			if left := entries(t, dir); len(left) != 0 {
				t.Errorf("left are %v", left)
			}
			var gone *workspace.UnavailableError
			if _, err := m.Open(record); !errors.As(err, &gone) {
				t.Errorf("a workspace that is gone: %v", err)
			}
		})
	}
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n", "out": "->/etc", "in": "->sub", "sub/x": "x", "big": strings.Repeat("x", 3<<20)})
	for name, tt := range map[string]struct {
		request *workspace.Request
		want    string
		change  func(*workspace.Settings)
	}{
		"no repository":           {one("file://"+base+"/none.git", "", "src/app"), "checkout src/app: ", nil},
		"no such ref":             {one(app.URL, "none", "src/app"), "couldn't find remote ref none", nil},
		"a cwd that is a file":    {one(app.URL, "", "src/app/a.txt"), "cwd is not a directory", nil},
		"a cwd that is not there": {one(app.URL, "", "src/app/none"), "cwd is not a directory", nil},
		"a symlink out":           {one(app.URL, "", "src/app/out"), "cwd is not a directory", nil},
		"a symlink in":            {one(app.URL, "", "src/app/in"), "", nil},
		"too large":               {one(app.URL, "", "src/app"), "it has more than 1048576 bytes", func(s *workspace.Settings) { s.MaxBytes = 1 << 20 }},
		"another repository":      {one("file:///srv/other.git", "", "src/app"), "not one of workspaces.git.allowed_repositories", nil},
		"another host":            {one("https://github.com.evil.example/acme/x", "", "src/app"), "not one of workspaces.git.allowed_repositories", nil},
		"a host in the path":      {one("https://evil.example/github.com/acme/x", "", "src/app"), "not one of workspaces.git.allowed_repositories", nil},
		"another port":            {one("https://github.com:8443/acme/x", "", "src/app"), "not one of workspaces.git.allowed_repositories", nil},
		"a file by default": {one(app.URL, "", "src/app"), "the protocol file is not allowed", func(s *workspace.Settings) {
			s.Protocols = []string{"https", "ssh"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var change []func(*workspace.Settings)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			m, dir := manager(t, base, change...)
			_, err := prepare(t, m, tt.request)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), dir) {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
			if left := entries(t, dir); len(left) != 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

func TestGitRunsNothingOfARepositoryOrAUser(t *testing.T) {
	home := t.TempDir()
	proof := filepath.Join(home, "ran")
	hook := filepath.Join(home, "template", "hooks", "post-checkout")
	gittest.Write(t, hook, "#!/bin/sh\ntouch "+proof+"\n")
	if err := os.Chmod(hook, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	gittest.Write(t, filepath.Join(home, ".gitconfig"), "[init]\n\ttemplateDir = "+home+"/template\n[core]\n\thooksPath = "+home+"/template/hooks\n\tfsmonitor = touch "+proof+"\n"+
		"[filter \"evil\"]\n\tsmudge = touch "+proof+"\n[url \"file:///etc/\"]\n\tinsteadOf = file://\n[protocol \"ext\"]\n\tallow = always\n")
	t.Setenv("HOME", home)
	t.Setenv("GIT_TEMPLATE_DIR", home+"/template")
	t.Setenv("RUNTIME_TEST_KEY", "of-the-server")
	base := t.TempDir()
	sub := gittest.New(t, filepath.Join(base, "sub.git"), map[string]string{"s.txt": "sub\n"})
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{
		".gitattributes": "* filter=evil\n", "a.txt": "one\n", ".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = " + sub.URL + "\n",
	})
	m, _ := manager(t, base)
	record, err := prepare(t, m, one(app.URL, "", "src/app"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("a program of the user was run")
	}
	if got, err := os.ReadFile(filepath.Join(w.Root, "src/app/a.txt")); err != nil || string(got) != "one\n" {
		t.Errorf("a.txt is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(w.Root, "src/app/s/s.txt")); err == nil {
		t.Error("a submodule is checked out")
	}
}

func TestGitOverTheNetwork(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	app := gittest.New(t, filepath.Join(base, "app.git"), map[string]string{"a.txt": "one\n"})
	gittest.Write(t, filepath.Join(app.Dir, "git-daemon-export-ok"), "")
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend")
	handler := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + base, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: os.Stderr}
	if _, err := os.Stat(program); err != nil {
		needs.Missing(t, fmt.Errorf("git has no http-backend: %w", err))
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	m, _ := manager(t, base)
	record, err := prepare(t, m, one(server.URL+"/app.git", "v1", "src/app"))
	if err != nil || record.Checkouts[0].Commit != app.Commit {
		t.Errorf("over HTTP: %+v, %v", record, err)
	}
	if _, err := prepare(t, m, one(server.URL+"/none.git", "", "src/app")); err == nil {
		t.Error("a repository that is not there is checked out")
	}
}

func TestAPreparationEndsInTime(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	m, dir := manager(t, t.TempDir(), func(s *workspace.Settings) { s.Timeout = 300 * time.Millisecond })
	began := time.Now()
	_, err = prepare(t, m, one("git://"+silent.Addr().String()+"/app", "", "src/app"))
	var failed *workspace.PrepareError
	if !errors.As(err, &failed) || !strings.Contains(failed.Problem, "it did not end within 300ms") || time.Since(began) > 20*time.Second {
		t.Errorf("the error is %v after %s", err, time.Since(began))
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestSweepDeletesWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	m, dir := manager(t, t.TempDir())
	held, err := m.Claim("held", "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"needed", "left"} {
		claim, err := m.Claim(id, "t")
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Keep(); err != nil {
			t.Fatal(err)
		}
	}
	needed := func(_ context.Context, o *workspace.Orphan) bool { return o.SessionID == "needed" && o.Token == "t" }
	if m.IsAbandoned("held", "t") || m.IsAbandoned("left", "t") {
		t.Error("a process that is alive counts as dead")
	}
	if err := m.Sweep(t.Context(), needed); err != nil {
		t.Fatal(err)
	}
	if left := strings.Join(entries(t, dir), " "); left != "held~t held~t.lock needed~t" {
		t.Errorf("left are %s", left)
	}
	if err := held.Discard(); err != nil {
		t.Fatal(err)
	}
}

func TestWorkspacesOfAStoreInMemoryEndWithTheProcess(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	ephemeral := func(s *workspace.Settings) { s.Dir, s.Store = base, "" }
	first, _ := manager(t, base, ephemeral)
	second, _ := manager(t, base, ephemeral)
	for _, m := range []*workspace.Manager{first, second} {
		claim, err := m.Claim("s", "t")
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.Keep(); err != nil {
			t.Fatal(err)
		}
	}
	left := func() int {
		list, err := filepath.Glob(filepath.Join(base, "memory-*", "s~t"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := second.Sweep(t.Context(), func(context.Context, *workspace.Orphan) bool { return true }); err != nil || left() != 2 {
		t.Fatalf("%d are left, %v", left(), err)
	}
	first.Close(t.Context())
	if left() != 1 {
		t.Errorf("%d are left", left())
	}
}

func TestAHostHandsOverWhatIsBelowItsRoots(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{"roots/s1/app", "elsewhere/app"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Write(t, filepath.Join(base, "roots", "link"), "->"+filepath.Join(base, "elsewhere"))
	gittest.Write(t, filepath.Join(base, "roots", "s1", "out"), "->"+filepath.Join(base, "elsewhere"))
	m, _ := manager(t, base, func(s *workspace.Settings) { s.Roots = []string{filepath.Join(base, "roots")} })
	at := func(root, cwd string) *workspace.Prepared {
		return &workspace.Prepared{Root: filepath.Join(base, root), Cwd: filepath.Join(base, cwd)}
	}
	for name, tt := range map[string]struct {
		given *workspace.Prepared
		ok    bool
	}{
		"below":               {at("roots/s1", "roots/s1/app"), true},
		"the root itself":     {at("roots/s1", "roots/s1"), true},
		"elsewhere":           {at("elsewhere", "elsewhere/app"), false},
		"the configured root": {at("roots", "roots/s1"), false},
		"through a link":      {at("roots/link", "roots/link/app"), false},
		"a cwd elsewhere":     {at("roots/s1", "elsewhere/app"), false},
		"a cwd through link":  {at("roots/s1", "roots/s1/out"), false},
		"relative":            {&workspace.Prepared{Root: "roots/s1", Cwd: "roots/s1"}, false},
		"no cwd":              {&workspace.Prepared{Root: filepath.Join(base, "roots/s1")}, false},
	} {
		record, err := m.Accept(tt.given)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if _, err := m.Open(record); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	none, _ := manager(t, base)
	if _, err := none.Accept(at("roots/s1", "roots/s1")); err == nil {
		t.Error("a workspace is handed over without configured roots")
	}
}
