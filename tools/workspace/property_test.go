package workspace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPropertyNoPathLeavesTheRoot gives the tools paths of all shapes in a workspace
// full of symbolic links: nothing outside of the root is read, listed or changed.
func TestPropertyNoPathLeavesTheRoot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		top, err := os.MkdirTemp("", "workspace")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(top) }()
		const secret = "the secret"
		outside := filepath.Join(top, "outside")
		root := filepath.Join(top, "root")
		for _, dir := range []string{outside, filepath.Join(root, "d", "e")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				rt.Fatal(err)
			}
		}
		for _, name := range []string{"s", "d"} {
			if err := os.WriteFile(filepath.Join(outside, name), []byte(secret), 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		part := rapid.SampledFrom([]string{"..", ".", "d", "e", "s", "l", "m", "outside", "root", "", "...", "d\x00", `..\`, "/", top, outside})
		shape := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(part, 0, 6).Draw(rt, "parts"), "/")
		})
		for _, link := range []string{"l", "d/l", "d/m", "d/e/l"} {
			if rapid.Bool().Draw(rt, "link "+link) {
				_ = os.Symlink(shape.Draw(rt, "target"), filepath.Join(root, link)) // an empty target is refused
			}
		}
		c := Config{Root: root}
		for range rapid.IntRange(1, 8).Draw(rt, "calls") {
			tool := rapid.SampledFrom([]string{"read_file", "list_files", "grep", "write_file", "edit_file"}).Draw(rt, "tool")
			arguments, err := json.Marshal(map[string]any{
				"path": shape.Draw(rt, "path"), "content": "changed", "old": "secret", "new": "changed", "expression": "secret",
			})
			if err != nil {
				rt.Fatal(err)
			}
			if got, _ := call(t.Context(), t, c, tool, string(arguments)); strings.Contains(got, secret) {
				rt.Fatalf("%s %s gives %q", tool, arguments, got)
			}
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) != 2 {
			rt.Fatalf("outside there are %v, %v", entries, err)
		}
		for _, entry := range entries {
			if text, err := os.ReadFile(filepath.Join(outside, entry.Name())); err != nil || string(text) != secret {
				rt.Fatalf("%s is %q, %v", entry.Name(), text, err)
			}
		}
		if above, err := os.ReadDir(top); err != nil || len(above) != 2 {
			rt.Fatalf("beside the root there are %v, %v", above, err)
		}
	})
}

func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"", ".", "..", "a/../..", "/", "a//b", "\x00", `C:\x`, "a/./b/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		local, err := localPath(".", name)
		if err == nil && (!filepath.IsLocal(local) || strings.ContainsRune(local, 0)) {
			t.Errorf("%q is %q", name, local)
		}
	})
}
