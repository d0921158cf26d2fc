package resolve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/agenttool"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rule is one rule of a permission section.
type rule struct {
	Tool     string `json:"tool"`
	Behavior string `json:"behavior"`
}

// ruled gives an agent rules.
func ruled(fallback string, rules ...rule) func(*spec.Agent) {
	return func(a *spec.Agent) {
		text, err := json.Marshal(map[string]any{"default_behavior": fallback, "rules": append([]rule{}, rules...)})
		if err != nil {
			panic(err)
		}
		a.PluginIDs, a.Sections = []string{"permission"}, spec.Sections{permission.SectionKey: text}
	}
}

// team is a revision in which the first agent, which has no plain tools, delegates
// along the others: a to b, b to c, which has the tool rm; d takes over from c,
// and e from a.
func team(t *testing.T, changes map[string]func(*spec.Agent)) *registry.Revision {
	t.Helper()
	edits := []draft{tool("rm"), plugin("permission", permission.New())}
	for _, a := range []spec.Agent{
		{ID: "a", Delegates: []string{"b"}, Handoffs: []string{"e"}, ExcludedTools: []string{"rm"}},
		{ID: "b", Delegates: []string{"c"}, ExcludedTools: []string{"rm"}},
		{ID: "c", Handoffs: []string{"d"}, ExcludedTools: []string{"rm"}},
		{ID: "d"}, {ID: "e"},
	} {
		edits = append(edits, agent(a.ID, func(made *spec.Agent) {
			model := made.ModelID
			*made = a
			made.ModelID = model
			if change := changes[a.ID]; change != nil {
				change(made)
			}
		}))
	}
	return revision(t, edits...)
}

// What an agent's rules let its delegates do is compared, too, when the agent
// does not have the tool itself.
func TestDiffOfWhatDelegatesAreHeldTo(t *testing.T) {
	t.Parallel()
	denies, asks := ruled("allow", rule{"rm", "deny"}), ruled("ask")
	open := resolve.Change{
		Kind: resolve.Changed, Field: "tool", Subject: "rm", Through: []string{"b", "c", "d"}, Widened: true,
		Old: `deny: rules[0] "rm" deny`, New: "not held back",
	}
	gone, asked := open, open
	gone.Reason = `plugin permission, which decided by rules[0] "rm" deny, is gone`
	asked.Reason = `default_behavior ask instead of rules[0] "rm" deny, for delegates`
	type changes = map[string]func(*spec.Agent)
	for name, tt := range map[string]struct {
		old, fresh changes
		want       []resolve.Change
	}{
		"a plugin that is gone":      {changes{"a": denies}, nil, []resolve.Change{gone}},
		"a default that asks":        {changes{"a": denies}, changes{"a": asks}, []resolve.Change{asked}},
		"nothing":                    {changes{"a": denies}, changes{"a": denies}, nil},
		"the default asks no longer": {changes{"a": asks}, nil, nil},
		"the delegate's own rule":    {changes{"a": denies, "d": denies}, changes{"d": denies}, nil},
		"a rule of one between": {
			changes{"a": denies, "b": ruled("allow", rule{"rm", "deny"})}, changes{"b": ruled("allow", rule{"rm", "deny"})}, nil,
		},
		"a tool that leads there is denied": {
			changes{"a": ruled("allow", rule{"rm", "deny"}, rule{"hand_off_to_d", "deny"})}, changes{"a": ruled("allow", rule{"hand_off_to_d", "deny"})}, nil,
		},
		"a rule of an agent that only hands over": {
			changes{"c": denies}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []resolve.Change
			for _, d := range diffOf(t, team(t, tt.old), team(t, tt.fresh)) {
				for _, c := range d.Changes {
					if d.Agent == "a" && c.Field == "tool" && c.Subject == "rm" {
						got = append(got, c)
					} else if c.Widened && d.Agent != "a" {
						t.Errorf("agent %s: %+v", d.Agent, c)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("changes of rm (-want +got):\n%s", diff)
			}
		})
	}
	narrowed := diffOf(t, team(t, nil), team(t, changes{"a": denies}))
	if len(narrowed) != 1 || narrowed[0].Widened() {
		t.Errorf("a rule that holds delegates back gives %+v", narrowed)
	}
}

func TestADelegateThatHandsBackToTheRootReachesItsHandoffs(t *testing.T) {
	t.Parallel()
	without := func(a *spec.Agent) { a.ExcludedTools = []string{"rm"} }
	team := func(rules func(*spec.Agent)) *registry.Revision {
		return revision(t, tool("rm"), plugin("permission", permission.New()),
			agent("a", without, rules, func(a *spec.Agent) { a.Delegates, a.Handoffs = []string{"b"}, []string{"c"} }),
			agent("b", without, func(a *spec.Agent) { a.Handoffs = []string{"a"} }), agent("c"))
	}
	found := diffOf(t, team(ruled("allow", rule{"rm", "deny"})), team(ruled("allow")))
	for _, d := range found {
		for _, c := range d.Changes {
			if d.Agent == "a" && c.Subject == "rm" && c.Widened && slices.Equal(c.Through, []string{"b", "a", "c"}) {
				return
			}
		}
	}
	t.Errorf("the lost rule is reported as %+v", found)
}

// callable returns the tools that may be called in a turn of an agent, by itself
// or on its behalf, as the gates of the turns decide.
func callable(t *testing.T, rev *registry.Revision, root string) map[string]bool {
	t.Helper()
	may, visited := make(map[string]bool), make(map[string]bool)
	// chain are the agents that delegated; an agent that took over may be in it.
	var visit func(id string, chain []string)
	visit = func(id string, chain []string) {
		slices.Sort(chain)
		chain = slices.Compact(chain)
		state := fmt.Sprint(id, chain)
		if visited[state] {
			return
		}
		visited[state] = true
		var ceiling []plugins.CeilingGate
		for _, caller := range chain {
			ceiling = append(ceiling, plan(t, rev, caller).Local.Env.Ceiling()...)
		}
		own := plan(t, rev, id).Local
		for _, e := range own.Tools.Entries() {
			engine := execution.NewEngine(own.Env, ceiling)
			engine.Context.Call = &model.ToolCall{ID: "1", Name: e.ID, Arguments: json.RawMessage(`{}`)}
			if d := engine.Gate(t.Context()); d.Kind == plugins.Block {
				continue
			}
			may[e.ID] = true
			on := append(slices.Clone(chain), id)
			switch to := e.Source.Name; {
			case e.Source.Kind == toolset.SourceDelegate && !slices.Contains(on, to):
				visit(to, on)
			case e.Source.Kind == toolset.SourceHandoff && len(chain) > 0: // the root's own ends what its rules are about
				visit(to, slices.Clone(chain))
			}
		}
	}
	visit(root, nil)
	return may
}

// TestPropertyRulesOfAnAgentWidenIffADelegateGetsThrough changes the rules of one
// agent among several that delegate and hand over to each other: access is
// widened exactly when a tool may be called in a turn of the agent that could not.
func TestPropertyRulesOfAnAgentWidenIffADelegateGetsThrough(t *testing.T) {
	t.Parallel()
	plain := []string{"t0", "t1", "t2"}
	ids := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(rt *rapid.T) {
		some := func(label string, of []string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, len(of), rapid.ID[string]).Draw(rt, label)
		}
		common := []draft{tool(plain...), plugin("permission", permission.New())}
		led := []string{}
		var root func(change func(*spec.Agent)) draft
		for i, id := range ids {
			var delegates []string
			if i+1 < len(ids) {
				delegates = some("delegates of "+id, ids[i+1:])
			}
			others := slices.DeleteFunc(slices.Clone(ids), func(o string) bool { return o == id })
			handoffs := some("handoffs of "+id, others)
			lacks := some("lacked by "+id, plain)
			for _, to := range delegates {
				led = append(led, agenttool.DelegateID(to))
			}
			for _, to := range handoffs {
				led = append(led, agenttool.HandoffID(to))
			}
			set := func(a *spec.Agent) { a.Delegates, a.Handoffs, a.ExcludedTools = delegates, handoffs, lacks }
			if i == 0 {
				root = func(change func(*spec.Agent)) draft { return agent(id, set, change) }
				continue
			}
			var own []rule
			for _, denied := range some("denied by "+id, plain) {
				own = append(own, rule{denied, "deny"})
			}
			common = append(common, agent(id, set, ruled("allow", own...)))
		}
		rules := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) rule {
			return rule{
				rapid.SampledFrom(slices.Concat(plain, led)).Draw(rt, "tool"), rapid.SampledFrom([]string{"allow", "deny"}).Draw(rt, "behavior"),
			}
		}), 0, 6)
		change := func(label string) func(*spec.Agent) {
			return ruled(rapid.SampledFrom([]string{"allow", "allow", "deny"}).Draw(rt, label+" default"), rules.Draw(rt, label)...)
		}
		before := revision(t, append([]draft{root(change("old"))}, common...)...)
		after := revision(t, append([]draft{root(change("new"))}, common...)...)
		old, fresh := callable(t, before, "a"), callable(t, after, "a")
		gained := slices.DeleteFunc(slices.Sorted(maps.Keys(fresh)), func(id string) bool { return old[id] })
		widened := []string{}
		for _, d := range diffOf(t, before, after) {
			for _, c := range d.Changes {
				if c.Widened && c.Field != "other tools" {
					widened = append(widened, fmt.Sprintf("%s %s through %v: %s → %s", c.Field, c.Subject, c.Through, c.Old, c.New))
				}
			}
		}
		if (len(gained) > 0) != (len(widened) > 0) {
			rt.Fatalf("the turns of the agent gain %v, but diff says widened of %q", gained, widened)
		}
	})
}
