package resolve_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func diffOf(t *testing.T, before, after *registry.Revision) []resolve.AgentDiff {
	t.Helper()
	diffs, err := resolve.Diff(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	return diffs
}

func TestDiffOfEqualRevisionsIsEmpty(t *testing.T) {
	t.Parallel()
	edits := []draft{tool("wc"), agent("a"), calls("b", "a"), withBackend(factory{}), far("far")}
	if diffs := diffOf(t, revision(t, edits...), revision(t, edits...)); len(diffs) > 0 {
		t.Errorf("Diff = %+v", diffs)
	}
}

// A tool that an agent gains widens what it may do, one that it loses does not;
// a new agent widens by all it has.
func TestDiffOfAgentsAndTools(t *testing.T) {
	t.Parallel()
	only := func(names ...string) func(*spec.Agent) { return func(a *spec.Agent) { a.AllowedTools = names } }
	before := revision(t, tool("wc", "rm"), agent("gone"), agent("a", only("wc")), agent("same", only()))
	after := revision(t, tool("wc", "rm"), agent("fresh", only("wc")), agent("a", only("rm")), agent("same", only()))
	want := []resolve.AgentDiff{
		{Agent: "gone", Kind: resolve.Removed, Changes: []resolve.Change{}},
		{Agent: "a", Kind: resolve.Changed, Changes: []resolve.Change{
			{Kind: resolve.Removed, Field: "tool", Subject: "wc", Old: "allowed"},
			{Kind: resolve.Added, Field: "tool", Subject: "rm", New: "allowed", Widened: true},
		}},
	}
	diffs := diffOf(t, before, after)
	if len(diffs) != 3 || diffs[2].Agent != "fresh" || diffs[2].Kind != resolve.Added || !diffs[2].Widened() {
		t.Fatalf("Diff = %+v", diffs)
	}
	if diff := cmp.Diff(want, diffs[:2]); diff != "" {
		t.Errorf("Diff (-want +got):\n%s", diff)
	}
	if diffs[0].Widened() || !diffs[1].Widened() {
		t.Error("what widens access is not told")
	}
}

// A change of a prompt is told without showing it.
func TestDiffOfSettings(t *testing.T) {
	t.Parallel()
	before := revision(t, agent("a", func(a *spec.Agent) { a.SystemPrompt = "the old secret plan" }))
	after := revision(t, agent("a", func(a *spec.Agent) {
		a.SystemPrompt, a.MaxRounds, a.Sections = "the new secret plan", new(3), spec.Sections{"retry": []byte(`{ "max_retries": 1 }`)}
	}))
	diffs := diffOf(t, before, after)
	if len(diffs) != 1 || diffs[0].Widened() {
		t.Fatalf("Diff = %+v", diffs)
	}
	got := map[string][2]string{}
	for _, c := range diffs[0].Changes {
		got[c.Field+" "+c.Subject] = [2]string{c.Old, c.New}
	}
	prompt := got["prompt "]
	if len(prompt[0]) != 12 || len(prompt[1]) != 12 || prompt[0] == prompt[1] {
		t.Errorf("the prompts are shown as %q", prompt)
	}
	delete(got, "prompt ")
	want := map[string][2]string{"max_rounds ": {"16", "3"}, "section retry": {"", `{"max_retries":1}`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// Less strict gates widen, stricter ones do not.
func TestDiffOfGates(t *testing.T) {
	t.Parallel()
	with := func(access plugins.Access) *registry.Revision {
		return revision(t, tool("wc"), plugin("g", gated(func(string) plugins.Verdict { return plugins.Verdict{Access: access, Rule: "r"} })),
			agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"g"} }))
	}
	order := []plugins.Access{plugins.AccessDeny, plugins.AccessAsk, plugins.AccessDepends, plugins.AccessAllow}
	for i, from := range order {
		for j, to := range order {
			diffs := diffOf(t, with(from), with(to))
			if (len(diffs) == 0) != (i == j) {
				t.Errorf("%s to %s: %+v", from, to, diffs)
			}
			if len(diffs) > 0 && diffs[0].Widened() != (j > i) {
				t.Errorf("%s to %s: widened %v", from, to, diffs[0].Widened())
			}
		}
	}
}

func TestDiffOfWhatDoesNotResolve(t *testing.T) {
	t.Parallel()
	good, bad := revision(t, agent("a")), revision(t, agent("a", func(a *spec.Agent) { a.ModelID = "gone" }))
	for name, pair := range map[string][2]*registry.Revision{"before": {bad, good}, "after": {good, bad}, "new": {revision(t), bad}} {
		if _, err := resolve.Diff(t.Context(), pair[0], pair[1]); !holds[*resolve.ModelNotFoundError](err) {
			t.Errorf("%s: Diff = %v", name, err)
		}
	}
}
