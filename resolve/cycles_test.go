package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// calls adds an agent that delegates to others.
func calls(id string, delegates ...string) draft {
	return agent(id, func(a *spec.Agent) { a.Delegates = delegates })
}

// Many agents that all call each other get a few warnings, always the same.
func TestManyDelegateCyclesAreCounted(t *testing.T) {
	t.Parallel()
	const agents = 60
	var ids []string
	for i := range agents {
		ids = append(ids, fmt.Sprintf("a%02d", i))
	}
	list := func() (texts []string) {
		var edits []draft
		for _, id := range ids {
			edits = append(edits, calls(id, ids...))
		}
		for _, d := range check(t, revision(t, edits...)) {
			if d.Code == diag.DelegateCycle {
				texts = append(texts, d.Path+": "+d.Message)
			}
		}
		return texts
	}
	got := list()
	if len(got) != 10 || !strings.HasSuffix(got[9], fmt.Sprintf("; and %d more are not listed", agents*(agents+1)/2-10)) {
		t.Errorf("%d warnings: %q", len(got), got)
	}
	if size := len(strings.Join(got, "")); size > 10_000 {
		t.Errorf("they have %d bytes", size)
	}
	if diff := cmp.Diff(got, list()); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
}

func TestDelegateCycles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edits []draft
		want  []string
	}{
		"none":          {[]draft{calls("a", "b", "c"), calls("b", "c"), calls("c")}, nil},
		"a diamond":     {[]draft{calls("a", "b", "c"), calls("b", "d"), calls("c", "d"), calls("d")}, nil},
		"itself":        {[]draft{calls("a", "a")}, []string{"agents.a.delegates[0]: agents can call each other in a circle: a → a"}},
		"two":           {[]draft{calls("a", "c", "b"), calls("b", "a"), calls("c")}, []string{"agents.b.delegates[0]: agents can call each other in a circle: a → b → a"}},
		"after a chain": {[]draft{calls("x", "a"), calls("a", "b"), calls("b", "a")}, []string{"agents.b.delegates[0]: agents can call each other in a circle: a → b → a"}},
		"two circles": {[]draft{calls("a", "b"), calls("b", "a"), calls("c", "d"), calls("d", "c")}, []string{
			"agents.b.delegates[0]: agents can call each other in a circle: a → b → a",
			"agents.d.delegates[0]: agents can call each other in a circle: c → d → c",
		}},
		"two through one agent": {[]draft{calls("a", "b", "c"), calls("b", "a"), calls("c", "a")}, []string{
			"agents.b.delegates[0]: agents can call each other in a circle: a → b → a",
			"agents.c.delegates[0]: agents can call each other in a circle: a → c → a",
		}},
		"under two names": {[]draft{calls("a", "local/b"), calls("b", "x", "local/a", "a"), calls("x")}, []string{
			"agents.b.delegates[1]: agents can call each other in a circle: a → b → a",
		}},
		"listed twice":        {[]draft{calls("a", "a", "a")}, []string{"agents.a.delegates[0]: agents can call each other in a circle: a → a"}},
		"the catalog cuts it": {[]draft{calls("a", "b"), agent("b", func(a *spec.Agent) { a.Delegates, a.ExcludedTools = []string{"a"}, spec.Names{"agent_run_a"} })}, nil},
		"of the defaults": {[]draft{agent("a"), func(d *registry.Draft) { d.Defaults = &spec.Defaults{Agent: spec.Agent{Delegates: []string{"a"}}} }}, []string{
			"defaults.delegates[0]: agents can call each other in a circle: a → a",
		}},
		"an agent far away ends it": {[]draft{withBackend(factory{}), calls("a", "far"), far("far")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range check(t, revision(t, tt.edits...)) {
				if d.Code != diag.DelegateCycle || d.Severity != diag.Warning || d.Hint == "" {
					continue // the catalog that cuts a circle leaves no tool
				}
				got = append(got, d.Path+": "+d.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("circles (-want +got):\n%s", diff)
			}
		})
	}
}

// A long chain needs no deep stack, and a long circle no long text.
func TestLongChainsOfDelegates(t *testing.T) {
	t.Parallel()
	const n = 10_000
	chain := func(last ...string) draft {
		return func(d *registry.Draft) {
			for i := range n {
				next := []string{fmt.Sprintf("a%d", i+1)}
				if i == n-1 {
					next = last
				}
				calls(fmt.Sprintf("a%d", i), next...)(d)
			}
		}
	}
	if list := check(t, revision(t, chain())); len(list) > 0 {
		t.Errorf("an open chain: %v", list)
	}
	list := check(t, revision(t, chain("a0")))
	want := "agents can call each other in a circle: a0 → a1 → a2 → a3 → a4 → a5 → … 9993 more … → a9999 → a0"
	if len(list) != 1 || list[0].Message != want || list[0].Path != "agents.a9999.delegates[0]" {
		t.Errorf("a closed one: %v", list)
	}
}

func TestAnEditMovesTheWarningOfACircle(t *testing.T) {
	t.Parallel()
	store := registry.NewStore(resolve.Check)
	warned := func(edits ...draft) string {
		rev, err := store.Publish(t.Context(), func(d *registry.Draft) error {
			for _, edit := range edits {
				edit(d)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(places(rev.Diagnostics()), ", ")
	}
	to := func(id string) func(*spec.Agent) { return func(a *spec.Agent) { a.Delegates = []string{id} } }
	inherits := func(d *registry.Draft) { d.Defaults = &spec.Defaults{Agent: spec.Agent{Delegates: []string{"a"}}} }
	if got := warned(base, inherits, agent("a", to("b")), agent("b")); got != "delegate-cycle defaults.delegates[0]" {
		t.Errorf("inherited: %s", got)
	}
	if got := warned(agent("b", to("a"))); got != "delegate-cycle agents.b.delegates[0]" {
		t.Errorf("in the agent's own record: %s", got)
	}
}
