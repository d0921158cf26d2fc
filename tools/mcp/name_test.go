package mcp

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

func TestToolsGetIDsThatModelsAccept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	for _, tt := range []struct{ prefix, name, want string }{
		{"mcp__files__", "read_file", "mcp__files__read_file"},
		{"", "read-file", "read-file"},
		{"f_", "a.b", "f_a_b_f78f511e"},
		{"f_", "a/b", "f_a_b_0fa0a216"},
		{"", "größe", "gr__e_d353a267"},
		{"mcp__files__", long, "mcp__files__" + long[:43] + "_0cdbf1e1"},
		{"mcp__files__", long[:52], "mcp__files__" + long[:52]},
	} {
		if got := toolID(tt.prefix, tt.name); got != tt.want {
			t.Errorf("the id of %q with %q is %q, want %q", tt.name, tt.prefix, got, tt.want)
		}
	}
}

func TestDifferentToolsGetDifferentIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[A-Za-z0-9_-]{0,40}|mcp__[a-z]{50,58}__`).Draw(t, "prefix")
		name := rapid.OneOf(rapid.StringMatching(`[a-c./_]{1,6}`), rapid.StringN(1, 100, 256))
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		id := toolID(prefix, a)
		if list := spec.CheckToolID("", id); list != nil {
			t.Fatalf("the id of %q is %q: %v", a, id, list)
		}
		if id != toolID(prefix, a) {
			t.Fatalf("the id of %q changes", a)
		}
		if len(prefix) < 55 && !strings.HasPrefix(id, prefix) {
			t.Fatalf("the id of %q is %q, without %q", a, id, prefix)
		}
		if (id == toolID(prefix, b)) != (a == b) {
			t.Fatalf("%q and %q get the ids %q and %q", a, b, id, toolID(prefix, b))
		}
	})
}
