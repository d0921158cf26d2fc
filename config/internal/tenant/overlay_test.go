package tenant_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tenant"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// base has the agent root, which mid extends, which leaf extends, the agent other, a tool and a
// workflow.
func base(rights *spec.TenantRights) *tenant.Base {
	return tenant.NewBase(rights, map[string]tenant.Entries{
		keys.Agents: {
			"root": json.RawMessage(`{"model_id":"m"}`), "mid": json.RawMessage(`{"extends":"root"}`),
			"leaf": json.RawMessage(`{"extends":"mid"}`), "other": json.RawMessage(`{"model_id":"m"}`),
		},
		keys.Tools:     {"search": json.RawMessage(`{"type":"http"}`)},
		keys.Workflows: {"nightly": json.RawMessage(`{"steps":[]}`)},
	})
}

func check(b *tenant.Base, text string) (*tenant.Changes, []string) {
	changes, found := tenant.NewChecker(b).Check(tree.NewSourceFile("o.yaml", []byte("version: 1\n"+text)))
	var texts []string
	for _, d := range found {
		texts = append(texts, strings.TrimPrefix(d.Path+": "+d.Message, "the overlay of a tenant "))
	}
	return changes, texts
}

func TestChangesOfAnOverlay(t *testing.T) {
	t.Parallel()
	rights := &spec.TenantRights{Kinds: []string{spec.TenantHTTP}, Workflows: &spec.TenantWorkflows{}, AllowPrivate: []string{"10.0.0.1"}, Sections: []string{"ret*"}}
	for text, want := range map[string]tenant.Changes{
		"agents: {mine: {extends: root}}":                                                   {Agents: []string{"mine"}},
		"patches: {agents: {root: {description: x}}}":                                       {Agents: []string{"root", "mid", "leaf"}},
		"patches: {agents: {mid: {description: x}}}":                                        {Agents: []string{"mid", "leaf"}},
		"patches: {agents: {root: {description: x}, mid: null}}":                            {Agents: []string{"root", "leaf"}, Removed: map[string][]string{keys.Agents: {"mid"}}},
		"agents: {mine: {sections: {permission: {}, retry: {}}}}":                           {Agents: []string{"mine"}},
		"patches: {tools: {search: {description: x}}}":                                      {Tools: []string{"search"}},
		"patches: {tools: {search: null}}":                                                  {Removed: map[string][]string{keys.Tools: {"search"}}},
		"tools: {fetch: {type: http, url: 'https://x.example', allow_private: [10.0.0.1]}}": {Tools: []string{"fetch"}, OwnTools: []string{"fetch"}},
		"workflows: {mine: {steps: []}}":                                                    {Workflows: []string{"mine"}, OwnWorkflows: []string{"mine"}},
		"patches: {workflows: {nightly: {description: x}}}":                                 {Workflows: []string{"nightly"}},
		"patches: {workflows: {nightly: null}}":                                             {Removed: map[string][]string{keys.Workflows: {"nightly"}}},
		"agents: \npatches: ":                                                               {},
		"agents: {mine: {system_prompt: 'Hi ${tenant.NAME} ${turn.NAME}, that is $$5'}}":    {Agents: []string{"mine"}},
		"workflows: {mine: {steps: [{run: '${{ input.x }} $${{ y }}'}]}}":                   {Workflows: []string{"mine"}, OwnWorkflows: []string{"mine"}},
	} {
		if want.Removed == nil {
			want.Removed = map[string][]string{}
		}
		got, found := check(base(rights), text)
		got = &tenant.Changes{Agents: got.Agents, Tools: got.Tools, OwnTools: got.OwnTools, Workflows: got.Workflows, OwnWorkflows: got.OwnWorkflows, Removed: got.Removed}
		if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", *got)); diff != "" || found != nil {
			t.Errorf("%s gives %q (-want +got):\n%s", text, found, diff)
		}
	}
}

func TestWhatOverlaysMayNotDo(t *testing.T) {
	t.Parallel()
	rights := &spec.TenantRights{Kinds: []string{spec.TenantHTTP, spec.TenantMCP}, Workflows: &spec.TenantWorkflows{Max: 1, MaxSchedules: 1}}
	const not = ": the overlay of a tenant cannot "
	for text, want := range map[string]string{
		"store: {driver: memory}":            "store" + not + "have store",
		"providers: {}":                      "providers" + not + "have providers",
		"agents: [a]":                        "agents: agents must be a mapping, not a list",
		"agnts: {}":                          `agnts: unknown field "agnts"`,
		"patches: {models: {m: {label: x}}}": "patches.models" + not + "patch models",
		"patches: {agnts: {}}":               `patches.agnts: unknown field "agnts"`,
		"patches: {allow_widening: true}":    "patches.allow_widening" + not + "allow itself to widen access",
		"patches: {agents: {root: {allow_widening: true}}}":              "patches.agents.root.allow_widening" + not + "allow itself to widen access",
		"patches: {agents: {root: {endpoint: {base_url: x}}}}":           "patches.agents.root.endpoint" + not + "set endpoint",
		"agents: {a: {session_start: []}}":                               "agents.a.session_start" + not + "set session_start",
		"agents: {a: {system_prompt: {file: /etc/passwd}}}":              "agents.a.system_prompt" + not + "read files",
		"agents: {a: {sections: {retry: {}}}}":                           "agents.a.sections.retry" + not + "set the section retry",
		"agents: {a: {description: '${HOME}'}}":                          "agents.a.description" + not + "refer to ${HOME}, which belongs to the process",
		"agents: {a: {description: '${tenant.A} ${file:x}'}}":            "agents.a.description" + not + "refer to ${file:x}, which belongs to the process",
		"patches: {tools: {search: {url: x}}}":                           "patches.tools.search.url" + not + "change url of a tool of the configuration",
		"tools: {search: {type: http}}":                                  "tools.search" + not + "replace a tool of the configuration",
		"tools: {x: {type: command}}":                                    "tools.x.type" + not + "bring a tool of kind command",
		"tools: {x: {type: mcp, command: [sh]}}":                         "tools.x.command" + not + "set command of a tool",
		"tools: {x: {type: http, auth: {}}}":                             "tools.x.auth" + not + "set auth of a tool",
		"tools: {x: {type: http, allow_private: [10.0.0.1]}}":            "tools.x.allow_private[0]" + not + "reach 10.0.0.1, which the configuration does not list",
		"workflows: {nightly: {steps: []}}":                              "workflows.nightly" + not + "replace a workflow of the configuration",
		"workflows: {a: {}, b: {}}":                                      "workflows.b" + not + "bring more than 1 workflows",
		"workflows: {a: {tenant: t}}":                                    "workflows.a.tenant" + not + "set tenant of a workflow",
		"workflows: {schedules: {a: {cron: x}}}":                         "workflows.schedules" + not + "group workflows",
		"workflows: {a: {schedules: [{cron: x}, {cron: y}]}}":            "workflows" + not + "have more than 1 schedules, and this one has 2",
		"patches: {workflows: {nightly: {schedules: [{}, {}, {}]}}}":     "patches.workflows" + not + "have more than 1 schedules, and this one has 3",
		"workflows: {a: {}, b: {}}\npatches: {workflows: {nightly: {}}}": "patches.workflows" + not + "have more than 2 workflows and patches of workflows, and this one has 3",
	} {
		if _, found := check(base(rights), text); len(found) != 1 || found[0] != want {
			t.Errorf("%s gives %q, want %q", text, found, want)
		}
	}
	for text, want := range map[string]string{
		"workflows: {a: {}}":                  "workflows.a" + not + "bring workflows",
		"patches: {workflows: {nightly: {}}}": "patches.workflows" + not + "patch workflows",
		"tools: {x: {type: http}}":            "tools.x.type" + not + "bring a tool of kind http",
	} {
		if _, found := check(base(new(spec.TenantRights)), text); len(found) != 1 || found[0] != want {
			t.Errorf("without rights, %s gives %q, want %q", text, found, want)
		}
	}
}

// A JSON overlay with too many entries is rejected without reading them.
func TestEntriesAreCountedFirst(t *testing.T) {
	t.Parallel()
	b := base(&spec.TenantRights{MaxAgents: 2})
	_, found := tenant.NewChecker(b).Check(tree.NewSourceFile("o.json", []byte(`{"version":1,"agents":{"a":5,"b":6},"patches":{"agents":{"c":7}}}`)))
	want := "the overlay of a tenant cannot have more than 2 agents and patches of agents, and this one has 3"
	if len(found) != 1 || found[0].Message != want || found[0].Path != "patches.agents" || found[0].Code != diag.WidenedAccess {
		t.Errorf("it gives %v", found)
	}
}

func TestExcerptsHaveWhatAnOverlayNeeds(t *testing.T) {
	t.Parallel()
	b := base(&spec.TenantRights{Workflows: &spec.TenantWorkflows{}})
	for text, want := range map[string]string{
		"agents: {mine: {description: x}}":                  `{"version":1}`,
		"agents: {mine: {extends: mid}}":                    `{"version":1,"agents":{"mid":{"extends":"root"},"root":{"model_id":"m"}}}`,
		"patches: {agents: {other: null}}":                  `{"version":1,"agents":{"other":{"model_id":"m"}}}`,
		"patches: {tools: {search: {description: x}}}":      `{"version":1,"tools":{"search":{"type":"http"}}}`,
		"patches: {workflows: {nightly: {description: x}}}": `{"version":1,"workflows":{"nightly":{"steps":[]}}}`,
	} {
		changes, found := check(b, text)
		got, err := b.Excerpt(changes)
		if err != nil || found != nil || string(got) != want {
			t.Errorf("%s gives %q and %s, %v, want %s", text, found, got, err, want)
		}
	}
}

func TestTenantsSeeTheirWorkflowsAlone(t *testing.T) {
	t.Parallel()
	b := base(&spec.TenantRights{Workflows: &spec.TenantWorkflows{}})
	if b.SeenWith([]string{"nightly"}) != b {
		t.Error("a tenant with all workflows has its own base")
	}
	if _, found := check(b.SeenWith(nil), "workflows: {nightly: {steps: []}}"); found != nil {
		t.Errorf("the id of a workflow of others is taken: %q", found)
	}
}

func TestUnmatchedPatchesAreExplained(t *testing.T) {
	t.Parallel()
	b := base(new(spec.TenantRights))
	for path, want := range map[string]string{
		"patches.agents.ledf": `did you mean "leaf"?`,
		"patches.agents.zzzz": "patches change entries of the configuration; define it under agents",
		"elsewhere":           "as before",
	} {
		if got := b.HintUnmatched(diag.New(diag.UnmatchedPatch, path, "x").WithHint("as before")).Hint; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// A patch changes exactly the agents that extend the patched one, directly or not.
func TestPatchesReachExtendingAgents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "agents")
		extends := make([]int, n) // itself for none
		entries := tenant.Entries{}
		for i := range n {
			extends[i] = rapid.IntRange(0, i).Draw(t, "extends")
			entry := `{}`
			if extends[i] != i {
				entry = fmt.Sprintf(`{"extends":"a%d"}`, extends[i])
			}
			entries[fmt.Sprintf("a%d", i)] = json.RawMessage(entry)
		}
		patched := rapid.IntRange(0, n-1).Draw(t, "patched")
		var want []string
		for i := range n {
			at := i
			for at != patched && extends[at] != at {
				at = extends[at]
			}
			if at == patched {
				want = append(want, fmt.Sprintf("a%d", i))
			}
		}
		changes, found := check(tenant.NewBase(new(spec.TenantRights), map[string]tenant.Entries{keys.Agents: entries}), fmt.Sprintf("patches: {agents: {a%d: {description: x}}}", patched))
		if slices.Sort(changes.Agents); !slices.Equal(changes.Agents, want) || found != nil {
			t.Fatalf("it changes %v, %q, want %v", changes.Agents, found, want)
		}
	})
}
