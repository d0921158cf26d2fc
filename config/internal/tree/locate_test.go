package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
)

const located = `agents:
  a:
    model_id: m
    stop: [x, y]
    empty:
  "b c": {}
remote_agents:
- name: peer
`

func TestSpansOfPaths(t *testing.T) {
	t.Parallel()
	files := read(t, located)
	for _, tt := range []struct {
		code diag.Code
		path string
		want string // the marked text; empty if the path leads nowhere
	}{
		{diag.InvalidValue, "agents.a.model_id", "m"},
		{diag.UnknownField, "agents.a.model_id", "model_id"},
		{diag.InvalidValue, "agents.a.stop[1]", "y"},
		{diag.InvalidValue, "agents.a.stop[2]", "stop"},
		{diag.InvalidValue, "agents.a.missing", "a"},
		{diag.InvalidValue, "agents.a.missing.deeper", "a"},
		{diag.InvalidValue, "agents.a.empty", "empty"},
		{diag.InvalidValue, `agents["b c"]`, "{}"},
		{diag.DuplicateID, "remote_agents[0].name", "peer"},
		{diag.MissingField, "remote_agents[0].name", "name"},
		{diag.InvalidValue, "nowhere", ""},
		{diag.InvalidValue, "agents[0]", "agents"},
		{diag.InvalidValue, "not a path]", ""},
		{diag.InvalidValue, "", ""},
	} {
		span, ok := files.LocateSpan(tt.code, tt.path)
		if got := marked(located, span); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s at %s marks %q, %v, want %q", tt.code, tt.path, got, ok, tt.want)
		}
	}
}

// marked returns the text of a span within one line.
func marked(text string, s diag.Span) string {
	if s.Line == 0 {
		return ""
	}
	return strings.Split(text, "\n")[s.Line-1][s.Column-1 : s.EndColumn-1]
}

func TestAFieldIsFoundInItsOtherSpelling(t *testing.T) {
	t.Parallel()
	files := read(t, "store: {timeout_ms: 5}")
	if at, ok := files.FindPath("store.timeout"); !ok || at.Exact {
		t.Errorf("it is at %+v, %v before its spelling is known", at, ok)
	}
	files.AddSpelling("timeout", "timeout_ms")
	if at, ok := files.FindPath("store.timeout"); !ok || !at.Exact || at.Key.Text != "timeout_ms" {
		t.Errorf("it is at %+v, %v", at, ok)
	}
}

// FindChild finds the same as FindField in a mapping of any size.
func TestLargeMappingsAreIndexed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		n := rapid.IntRange(0, 200).Draw(rt, "fields")
		for i := range n {
			fmt.Fprintf(&text, "k%d: v%d\n", i, i)
		}
		text.WriteString("x-end: 1\n")
		files := read(t, text.String())
		name := fmt.Sprintf("k%d", rapid.IntRange(0, 250).Draw(rt, "name"))
		for range 2 { // with and without an index
			key, value := files.FindChild(files.Root, name)
			wantKey, wantValue := files.Root.FindField(name)
			if key != wantKey || value != wantValue {
				rt.Fatalf("%s is %v: %v, want %v: %v", name, key, value, wantKey, wantValue)
			}
		}
	})
}

func TestPlacesHavePathsAndLabels(t *testing.T) {
	t.Parallel()
	agents := tree.TopField("agents", nil)
	for _, tt := range []struct {
		place             *tree.Place
		path, label, name string
	}{
		{nil, "", "the file", ""},
		{agents, "agents", "agents", "agents"},
		{agents.Field("b c", nil), `agents["b c"]`, "b c", "b c"},
		{agents.Field("a", nil).Field("stop", nil).Element(1), "agents.a.stop[1]", "stop[1]", ""},
		{agents.Element(0).Element(2), "agents[0][2]", "agents[0][2]", ""},
		{agents.Field("", nil), `agents[""]`, `""`, ""},
	} {
		if path, label, name := tt.place.Path(), tt.place.Label(), tt.place.Name(); path != tt.path || label != tt.label || name != tt.name {
			t.Errorf("%q has the label %q and the name %q, want %q, %q and %q", path, label, name, tt.path, tt.label, tt.name)
		}
	}
}
