//go:build unix

package mcp

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
	"github.com/agentruntime/agentruntime/model"
)

// everything returns the path of the reference server that has a tool for
// everything. It comes from npm, in the versions of testdata/node, into a
// directory that lives as long as the test. Without Node.js or the
// network the test is skipped, and fails in CI.
func everything(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if _, missing := exec.LookPath("node"); err != nil || missing != nil {
		needs.Missing(t, errors.New("no Node.js: node and npm are not in PATH"))
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "node", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		needs.Missing(t, fmt.Errorf("npm ci does not install the reference servers: %w\n%s", err, said))
	}
	return filepath.Join(dir, "node_modules", ".bin", "mcp-server-everything")
}

func TestTheReferenceServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("npm takes a while")
	}
	s := ready(t, Config{Command: []string{everything(t), "stdio"}, Catalog: filepath.Join(t.TempDir(), "c.json")})
	members, found := s.Members()
	if len(members) < 5 || found != nil {
		t.Errorf("the server has %d tools: %v", len(members), found)
	}
	if got := succeed(t, s, "echo", `{"message":"hello"}`); got != "Echo: hello" {
		t.Errorf("echo says %q", got)
	}
	fails(t, s, "echo", `tool_input_invalid: "message" is missing`)
	r := call(t.Context(), t, s, "get-structured-content", `{"location":"Chicago"}`)
	if r.IsError || !strings.Contains(string(r.Data), `"temperature"`) {
		t.Errorf("the structured content is %s", r.Data)
	}
	image := false
	for _, part := range call(t.Context(), t, s, "get-tiny-image", `{}`).Content {
		image = image || part.Type == model.PartImage && part.Blob.MediaType == "image/png" && len(part.Blob.Data) > 0
	}
	if !image {
		t.Error("there is no image")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := s.link.openSession(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the connection is %v", err)
	}
}
