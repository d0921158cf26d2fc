package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The catalog comes last, over the tools of all sources.
func TestTheCatalogFiltersToolsOfAllSources(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		catalog func(*spec.Agent)
		want    []string
	}{
		"no field":                {func(*spec.Agent) {}, []string{"agent_run_b", "of_x", "rm", "wc"}},
		"an empty list":           {func(a *spec.Agent) { a.AllowedTools = spec.Names{} }, []string{}},
		"an empty pattern list":   {func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{} }, []string{}},
		"one literal":             {func(a *spec.Agent) { a.AllowedTools = spec.Names{"wc"} }, []string{"wc"}},
		"a delegate":              {func(a *spec.Agent) { a.AllowedTools = spec.Names{"agent_run_b"} }, []string{"agent_run_b"}},
		"a plugin's":              {func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"of_*"} }, []string{"of_x"}},
		"both allow fields":       {func(a *spec.Agent) { a.AllowedTools, a.AllowedToolPatterns = spec.Names{"wc"}, spec.Names{"?m"} }, []string{"rm", "wc"}},
		"exclusion wins":          {func(a *spec.Agent) { a.AllowedTools, a.ExcludedToolPatterns = spec.Names{"wc", "rm"}, spec.Names{"r*"} }, []string{"wc"}},
		"only excludes":           {func(a *spec.Agent) { a.ExcludedTools = spec.Names{"of_x", "agent_run_b"} }, []string{"rm", "wc"}},
		"excludes that are empty": {func(a *spec.Agent) { a.ExcludedTools, a.ExcludedToolPatterns = spec.Names{}, spec.Names{} }, []string{"agent_run_b", "of_x", "rm", "wc"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, revision(t, tool("wc", "rm"), plugin("x", brings("of_x")), agent("b"),
				agent("a", func(a *spec.Agent) { a.PluginIDs, a.Delegates = []string{"x"}, []string{"b", "b"} }, tt.catalog)), "a")
			if diff := cmp.Diff(tt.want, ids(p)); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, offered(p)); diff != "" {
				t.Errorf("offered (-want +got):\n%s", diff)
			}
		})
	}
}

// What is declared to the model is sorted by id, whatever the order of
// registration.
func TestDeclarationsAreSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9_-]{1,8}`), 0, 12, rapid.ID).Draw(rt, "ids")
		cut := rapid.IntRange(0, len(all)).Draw(rt, "global")
		rev := revision(t, tool(all[:cut]...), plugin("x", brings(all[cut:]...)), agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"x"} }))
		p := plan(t, rev, "a")
		want := slices.Sorted(slices.Values(all))
		if got := offered(p); !slices.Equal(got, want) {
			rt.Fatalf("offered are %v, want %v", got, want)
		}
		if got := ids(p); !slices.Equal(got, want) {
			rt.Fatalf("tools are %v, want %v", got, want)
		}
	})
}

// A tool that a gate denies whatever its arguments is not offered, but stays:
// a model that asks for it all the same is told of the rule.
func TestDeniedToolsAreNotOffered(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc", "rm", "ls"), plugin("deny", gated(func(id string) plugins.Verdict {
		switch id {
		case "rm":
			return plugins.Verdict{Access: plugins.AccessDeny, Rule: "rm deny"}
		case "ls":
			return plugins.Verdict{Access: plugins.AccessAsk}
		}
		return plugins.Verdict{}
	})), agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"deny"} }), agent("b"))
	p := plan(t, rev, "a")
	if diff := cmp.Diff([]string{"ls", "rm", "wc"}, ids(p)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ls", "wc"}, offered(p)); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ls", "rm", "wc"}, offered(plan(t, rev, "b"))); diff != "" {
		t.Errorf("offered to b (-want +got):\n%s", diff)
	}
}

// Agents that see the same tools share one set, so that memory does not grow
// with the number of agents.
func TestAgentsShareEqualToolSets(t *testing.T) {
	t.Parallel()
	only := func(names ...string) func(*spec.Agent) { return func(a *spec.Agent) { a.AllowedTools = names } }
	rev := revision(t, tool("wc", "rm", "ls"), agent("a"), agent("b"), agent("c", only("wc", "rm")),
		agent("d", func(a *spec.Agent) { a.ExcludedToolPatterns = spec.Names{"l*"} }), agent("e", only("wc")),
		calls("f", "a"), calls("g", "a"))
	of := func(id string) *toolset.Set { return plan(t, rev, id).Local.Tools }
	if of("a") != of("b") || of("c") != of("d") || of("f") != of("g") {
		t.Error("equal sets are made twice")
	}
	if of("a") == of("c") || of("c") == of("e") || of("a") == of("f") {
		t.Error("different sets are one")
	}
}

func TestToolsOfPluginsThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		register func(*plugins.Registrar)
		want     string
	}{
		"a bad id":     {func(r *plugins.Registrar) { r.Tool("a b", echoTool("")) }, `invalid-id: agents.a.plugin_ids[0]: tool id "a b" is not allowed (a tool id is shown to models: 1 to 64 letters, digits, '_' or '-')`},
		"a bad schema": {func(r *plugins.Registrar) { r.Tool("t", rawTool(`{"type": 3}`)) }, `invalid-schema: agents.a.plugin_ids[0]: the parameters of tool "t" are not a valid JSON Schema: `},
		"nil":          {func(r *plugins.Registrar) { r.Tool("t", nil) }, `agents.a.plugin_ids[0]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := revision(t, plugin("x", made{register: func(r *plugins.Registrar) error { tt.register(r); return nil }}),
				agent("a", func(a *spec.Agent) { a.PluginIDs = []string{"x"} }))
			if got := said(check(t, rev)); len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("Check = %q, want %q", got, tt.want)
			}
		})
	}
}

// The id of a delegate becomes the id of a tool byte by byte; one that is then
// too long for models is refused.
func TestTheIDsOfDelegates(t *testing.T) {
	t.Parallel()
	long, tooLong := strings.Repeat("x", 54), strings.Repeat("x", 55)
	rev := revision(t, agent("b.c:d-e_f"), agent(long), agent(tooLong), calls("a", "b.c:d-e_f", long), calls("z", tooLong))
	p := plan(t, rev, "a")
	if diff := cmp.Diff([]string{"agent_run_b_c_d-e_f", "agent_run_" + long}, ids(p)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if got := p.Local.Tools.Entries()[0]; got.Source != (toolset.Source{Kind: toolset.SourceDelegate, Name: "b.c:d-e_f"}) {
		t.Errorf("the source is %v", got.Source)
	}
	if diff := cmp.Diff([]string{"invalid-id agents.z.delegates[0]"}, places(check(t, rev))); diff != "" {
		t.Errorf("Check (-want +got):\n%s", diff)
	}
}

// A delegate is presented by its description, with the defaults under it, and never by
// its prompt.
func TestHowADelegateIsPresented(t *testing.T) {
	t.Parallel()
	rev := revision(t, calls("a", "b", "c", "d"), agent("b", func(a *spec.Agent) { a.Description = "Knows things." }),
		agent("c", func(a *spec.Agent) { a.Description, a.SystemPrompt = "", "\nYou are c.\nMore." }),
		agent("d", func(a *spec.Agent) { a.Description = "" }), agent("e", func(a *spec.Agent) { a.Description = "" }))
	var got []string
	for _, d := range plan(t, rev, "a").Local.Offered {
		got = append(got, d.Description)
	}
	if diff := cmp.Diff([]string{"Knows things.", "c", "d"}, got); diff != "" {
		t.Errorf("descriptions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"no-description agents.c", "no-description agents.d"}, places(check(t, rev))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestManyDelegatesWithoutDescriptionAreCounted(t *testing.T) {
	t.Parallel()
	drafts := []draft{agent("a", func(a *spec.Agent) { a.Delegates = nil })}
	for i := range 300 {
		id := fmt.Sprintf("d%d", i)
		drafts = append(drafts, agent(id, func(a *spec.Agent) { a.Description = "" }),
			agent("x"+id, func(a *spec.Agent) { a.Delegates = []string{id, "d0"} }))
	}
	list := check(t, revision(t, drafts...))
	if len(list) != diag.MaxAlike || !strings.HasSuffix(list[len(list)-1].Message, "; and 290 more are not listed") {
		t.Errorf("%d diagnostics, the last of them %v", len(list), list[len(list)-1])
	}
}

// A conflict is an error though the catalog would drop both.
func TestAConflictIsOneWhateverTheCatalogSays(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc", "ls"), plugin("x", brings("wc")), agent("a", func(a *spec.Agent) {
		a.PluginIDs, a.ExcludedTools = []string{"x"}, spec.Names{"wc"}
	}))
	if err := refused(t, rev, "a"); !holds[*resolve.ToolIDConflictError](err) {
		t.Errorf("Resolve = %v", err)
	}
}

// A catalog whose patterns are all broken allows nothing rather than all.
func TestABrokenCatalogFailsClosed(t *testing.T) {
	t.Parallel()
	rev := revision(t, tool("wc"), agent("a", func(a *spec.Agent) { a.AllowedToolPatterns = spec.Names{"", "[", "x\\"} }))
	var got []string
	for _, d := range check(t, rev) {
		if d.Code == diag.InvalidPattern {
			got = append(got, d.Path)
		}
	}
	want := []string{"agents.a.allowed_tool_patterns[0]", "agents.a.allowed_tool_patterns[1]", "agents.a.allowed_tool_patterns[2]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
	x, err := resolve.Explain(t.Context(), rev, "a")
	if err == nil || x.Tool("wc").Rule.Visible {
		t.Errorf("Explain = %+v, %v", x, err)
	}
}

// Many tools with a fitting many of entries decide as one rule does.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 300 {
		all = append(all, fmt.Sprintf("tool_%03d", i))
	}
	p := plan(t, revision(t, tool(all...), agent("a", func(a *spec.Agent) { a.AllowedTools = all[:200]; a.ExcludedTools = all[100:250] })), "a")
	if got := ids(p); !slices.Equal(got, all[:100]) {
		t.Errorf("%d tools are left", len(got))
	}
}
