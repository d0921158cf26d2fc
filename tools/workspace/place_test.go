package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// callIn calls a tool of an entry without a root in a workspace.
func callIn(t *testing.T, w *tools.Workspace, tool, arguments string) (text string, failed bool) {
	t.Helper()
	r, err := members(t, Config{Programs: []string{"pwd"}, Network: networkHost})[tool].Call(t.Context(), &tools.Call{ID: "call_1", Arguments: json.RawMessage(arguments), Workspace: w})
	if err != nil {
		return err.Error(), true
	}
	return model.PartsText(r.Content), r.IsError
}

func TestToolsWorkInTheWorkspaceOfTheSession(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"app/a.txt": "one\n", "app/cmd/b.txt": "two\n", "docs/c.txt": "two\n", "app/out": "->" + os.TempDir(), "app/up": "->.."})
	w := &tools.Workspace{Root: root, Cwd: "app"}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool, arguments, want string
		failed                bool
	}{
		{"read_file", `{"path":"a.txt"}`, "one\n", false},
		{"read_file", `{"path":"../docs/c.txt"}`, "two\n", false},
		{"read_file", `{"path":"up/docs/c.txt"}`, "two\n", false},
		{"read_file", `{"path":"../../x"}`, `path "../../x" leads out of the workspace`, true},
		{"list_files", `{}`, "a.txt\ncmd/\ncmd/b.txt\nout@\nup@\n", false},
		{"list_files", `{"path":"..","depth":1}`, "./\n../docs/\n", false},
		{"grep", `{"expression":"two","path":".."}`, "cmd/b.txt:1:two\n../docs/c.txt:1:two\n", false},
		{"grep", `{"expression":"two","pattern":"cmd/*"}`, "cmd/b.txt:1:two\n", false},
		{"write_file", `{"path":"new.txt","content":"x"}`, "wrote 1 bytes", false},
		{"edit_file", `{"path":"../app/new.txt","old":"x","new":"y"}`, "replacements: 1", false},
		{"run_command", `{"program":"pwd"}`, filepath.Join(real, "app") + "\n", false},
		{"run_command", `{"program":"pwd","path":"../docs"}`, filepath.Join(real, "docs") + "\n", false},
		{"run_command", `{"program":"pwd","path":"out"}`, "out: path escapes from parent", true},
	} {
		if got, failed := callIn(t, w, tt.tool, tt.arguments); got != tt.want || failed != tt.failed {
			t.Errorf("%s %s is %q, %v, want %q", tt.tool, tt.arguments, got, failed, tt.want)
		}
	}
	if got, failed := callIn(t, nil, "list_files", `{}`); !failed || got != errNoWorkspace.Error() {
		t.Errorf("without a workspace: %q, %v", got, failed)
	}
}

// TestPropertyNoPathLeavesTheWorkspace gives the tools paths of all shapes in a workspace
// of a session that is full of symbolic links, with a directory below it as the one that
// work begins in.
func TestPropertyNoPathLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		top, err := os.MkdirTemp("", "workspace")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(top) }()
		const secret = "the secret"
		outside, root := filepath.Join(top, "outside"), filepath.Join(top, "root")
		for _, dir := range []string{outside, filepath.Join(root, "d", "e")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				rt.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, "s"), []byte(secret), 0o600); err != nil {
			rt.Fatal(err)
		}
		part := rapid.SampledFrom([]string{"..", ".", "d", "e", "s", "l", "outside", "root", "", "d\x00", "/", top, outside})
		shape := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 0, 7).Draw(rt, "parts"), "/")
		})
		for _, link := range []string{"l", "d/l", "d/e/l"} {
			if rapid.Bool().Draw(rt, "link "+link) {
				_ = os.Symlink(shape.Draw(rt, "target"), filepath.Join(root, link)) // an empty target is refused
			}
		}
		w := &tools.Workspace{Root: root, Cwd: rapid.SampledFrom([]string{".", "d", "d/e", "l", "d/l", "../outside"}).Draw(rt, "cwd")}
		if dir, err := w.Directory(); err == nil && !strings.HasPrefix(dir+"/", mustResolve(rt, root)+"/") {
			rt.Fatalf("work begins in %s", dir)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			tool := rapid.SampledFrom([]string{"read_file", "list_files", "grep", "write_file", "edit_file"}).Draw(rt, "tool")
			arguments, err := json.Marshal(map[string]any{"path": shape.Draw(rt, "path"), "content": "changed", "old": "secret", "new": "changed", "expression": "secret"})
			if err != nil {
				rt.Fatal(err)
			}
			if got, _ := callIn(t, w, tool, string(arguments)); strings.Contains(got, secret) {
				rt.Fatalf("%s %s gives %q", tool, arguments, got)
			}
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) != 1 {
			rt.Fatalf("outside there are %v, %v", entries, err)
		}
		if text, err := os.ReadFile(filepath.Join(outside, "s")); err != nil || string(text) != secret {
			rt.Fatalf("s is %q, %v", text, err)
		}
	})
}

func mustResolve(rt *rapid.T, dir string) string {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		rt.Fatal(err)
	}
	return resolved
}
