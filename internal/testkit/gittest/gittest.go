// Package gittest creates git repositories for tests.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// Run runs git in a directory and returns its output. It ignores user and system configuration.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Repository is a bare repository with a branch main.
type Repository struct {
	// Dir is its directory, and URL its file URL.
	Dir, URL string
	// Commit is the latest commit of main.
	Commit string
}

// New creates a bare repository at a path with the files of one commit. A content that begins with
// "->" is a symbolic link. It also has the tag v1 and the branch topic, which has one more file.
func New(t testing.TB, dir string, files map[string]string) *Repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		needs.Missing(t, err)
	}
	work := t.TempDir()
	Run(t, work, "init", "--quiet", "--initial-branch=main", ".")
	for name, content := range files {
		Write(t, filepath.Join(work, filepath.FromSlash(name)), content)
	}
	Run(t, work, "add", "--all", "--force", ".")
	Run(t, work, "commit", "--quiet", "--allow-empty", "-m", "first")
	commit := Run(t, work, "rev-parse", "HEAD")
	Run(t, work, "tag", "v1")
	Run(t, work, "checkout", "--quiet", "-b", "topic")
	Write(t, filepath.Join(work, "topic.txt"), "on the branch\n")
	Run(t, work, "add", "--all", ".")
	Run(t, work, "commit", "--quiet", "-m", "second")
	Run(t, work, "checkout", "--quiet", "main")
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	Run(t, work, "clone", "--quiet", "--bare", "--", work, dir)
	Run(t, dir, "update-server-info")
	return &Repository{Dir: dir, URL: "file://" + filepath.ToSlash(dir), Commit: commit}
}

// Write writes a file or symbolic link, creating its parent directories.
func Write(t testing.TB, name, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if target, link := strings.CutPrefix(content, "->"); err == nil && link {
		err = os.Symlink(target, name)
	} else if err == nil {
		err = os.WriteFile(name, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
