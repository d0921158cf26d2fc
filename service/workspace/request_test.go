package workspace

import (
	"path"
	"strings"
	"testing"
)

// FuzzWorkspacePath checks that no path that is accepted leads out of the workspace.
func FuzzWorkspacePath(f *testing.F) {
	for _, seed := range []string{"", "b", "a/../b", "../b", "/b", `a\b`, "a/.git", "./a//b/", "..a", "a/-b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if pathProblem(name) != "" {
			return
		}
		clean := path.Join("/root", name)
		if !strings.HasPrefix(clean, "/root/") || strings.ContainsAny(clean, "\\\x00") || strings.Contains(clean, "/.git/") {
			t.Errorf("%q is accepted and leads to %q", name, clean)
		}
	})
}
