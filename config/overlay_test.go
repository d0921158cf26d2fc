package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// parseFiles parses texts as the files 0.yaml, 1.yaml and so on.
func parseFiles(t interface{ Helper() }, texts ...string) (*config.File, diag.List) {
	t.Helper()
	var sources []config.Source
	for i, text := range texts {
		sources = append(sources, config.Source{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	return config.Parse(sources, options(nil))
}

// fleet is a configuration with one patchable entry of each kind.
const fleet = `version: 1
providers: {p: {type: echo, delay: 1}}
models: {m: {provider_id: p, upstream_model: x, context_window: 1000}, n: {provider_id: p, upstream_model: y}}
model_pools: {pool: {members: [{model_id: m}]}}
tools: {t: {type: command, description: Old., command: [a], timeout: 1s}}
plugins: {l: {type: log, level: debug}}
agents:
  a:
    model_id: m
    system_prompt: Old.
    allowed_tools: [t]
    budgets: {max_tokens: 10, max_model_calls: 3}
    sections: {retry: {max_retries: 1}, x: {a: 1, b: {c: 2}}}
`

func TestPatchesChangeWhatTheySay(t *testing.T) {
	t.Parallel()
	f, list := parseFiles(t, fleet, lines(
		"version: 1",
		"patches:",
		"  providers: {p: {delay: 2}}",
		"  models: {m: {context_window: null, upstream_model: z}, n: null}",
		"  model_pools: {pool: {members: [{model_id: m}]}}",
		"  tools: {t: {description: New., timeout: null}}",
		"  plugins: {l: {level: ~}}",
		"  agents:",
		"    a: {system_prompt: New., allowed_tools: null, budgets: {max_tokens: 5}, sections: {retry: null, x: {b: {c: null, d: 3}}}}",
		"  allow_widening: true",
	))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	want := spec.Agent{
		ID: "a", ModelID: "m", SystemPrompt: "New.", Budgets: &spec.Budgets{MaxTokens: ptr(5), MaxModelCalls: ptr(3)},
		Sections: spec.Sections{"x": []byte(`{"a":1,"b":{"d":3}}`)},
	}
	if diff := cmp.Diff(&want, f.Agents[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(f.Models, []spec.Model{{ID: "m", ProviderID: "p", UpstreamModel: "z"}}); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(f.Tools[0].Config, &command{Description: "New.", Command: []string{"a"}}); diff != "" {
		t.Error(diff)
	}
	if p, _ := f.Providers[0].Config.(*echo); p.Delay != 2 {
		t.Errorf("the delay is %v", p.Delay)
	}
	if l, _ := f.Plugins[0].Config.(*audit); l.Level != "" {
		t.Errorf("the level is %q", l.Level)
	}
}

func TestPatchesApplyInTheOrderOfTheFilesAfterAllEntries(t *testing.T) {
	t.Parallel()
	f, list := parseFiles(t,
		fleet+"patches: {agents: {a: {description: first, max_rounds: 1}, b: {max_rounds: 2}}}\n",
		"version: 1\npatches: {agents: {a: {description: second, max_rounds: null}}}\n",
		"version: 1\nagents: {b: {model_id: n}}\n",
	)
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	a, b := f.Agents[0], f.Agents[1]
	if a.Description != "second" || a.MaxRounds != nil || b.ModelID != "n" || *b.MaxRounds != 2 {
		t.Errorf("got %+v and %+v", a, b)
	}
}

func TestAgentsExtendAgents(t *testing.T) {
	t.Parallel()
	f, list := parseFiles(t, fleet+lines(
		"  c: {extends: b, allowed_tool_patterns: [\"*\"], description: ~}",
		"  b: {extends: a, description: B., model_id: n, sections: {x: {a: ~, b: 5}, y: {}}, budgets: {max_tokens: ~}}",
		"  d: {extends: a, allowed_tools: ~, excluded_tools: ~}",
	), "version: 1\npatches: {agents: {a: {max_rounds: 7}, d: {budgets: null, sections: {retry: null}}}}\n")
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	byID := map[string]*spec.Agent{}
	for _, a := range f.Agents {
		byID[a.ID] = a
	}
	sections := spec.Sections{"retry": []byte(`{"max_retries":1}`), "x": []byte(`{"b":5}`), "y": []byte(`{}`)}
	want := map[string]*spec.Agent{
		"b": {
			ID: "b", Description: "B.", ModelID: "n", SystemPrompt: "Old.", MaxRounds: ptr(7), AllowedTools: spec.Names{"t"},
			Budgets: &spec.Budgets{MaxModelCalls: ptr(3)}, Sections: sections,
		},
		"c": {
			ID: "c", ModelID: "n", SystemPrompt: "Old.", MaxRounds: ptr(7), AllowedToolPatterns: spec.Names{"*"},
			Budgets: &spec.Budgets{MaxModelCalls: ptr(3)}, Sections: sections,
		},
		"d": {
			ID: "d", ModelID: "m", SystemPrompt: "Old.", MaxRounds: ptr(7), AllowedTools: spec.Names{}, ExcludedTools: spec.Names{},
			Sections: spec.Sections{"x": []byte(`{"a":1,"b":{"c":2}}`)},
		},
	}
	for id, w := range want {
		if diff := cmp.Diff(w, byID[id]); diff != "" {
			t.Errorf("agent %s (-want +got):\n%s", id, diff)
		}
	}
}

// An agent inherits one of two ways to configure compaction only if it sets neither.
func TestWhatSaysTheSameIsNotInheritedTwice(t *testing.T) {
	t.Parallel()
	f, list := parseFiles(t, lines(
		"version: 1",
		"agents:",
		"  a: {model_id: m, context_policy: {max_context_tokens: 5}}",
		"  b: {model_id: m, sections: {compaction: {x: 1}, y: 1}}",
		"  c: {extends: a, sections: {compaction: {x: 2}}}",
		"  d: {extends: b, context_policy: {max_context_tokens: 6}}",
	))
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	if c := f.Agents[2]; c.ContextPolicy != nil || string(c.Sections["compaction"]) != `{"x":2}` {
		t.Errorf("c is %+v", c)
	}
	if d := f.Agents[3]; d.ContextPolicy == nil || len(d.Sections) != 1 {
		t.Errorf("d is %+v", d)
	}
}

func TestMistakesInOverlays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"no such base", "  b: {extends: aa}\n", `0.yaml:14:16 agent-not-found: agents.b.extends: agent "aa" is not defined (did you mean "a"?)`},
		{"no such base, twice", "  b: {extends: aa}\n  c: {extends: b, max_rounds: 1}\n", `0.yaml:14:16 agent-not-found: agents.b.extends: agent "aa" is not defined (did you mean "a"?)`},
		{"itself", "  b: {extends: b}\n", "0.yaml:14:16 invalid-value: agents.b.extends: the agent extends itself"},
		{"a circle", "  b: {extends: c}\n  c: {extends: d}\n  d: {extends: b}\n  e: {extends: b}\n", "0.yaml:14:16 invalid-value: agents.b.extends: agents extend each other in a circle: b → c → d → b | 0.yaml:15:16 and c extends d here | 0.yaml:16:16 and d extends b here"},
		{"no text", "  b: {extends: [a]}\n", "0.yaml:14:16 invalid-value: agents.b.extends: extends must be a text, not a list"},
		{"a broken base", "  b: {extends: c}\n  c: 3\n", "0.yaml:15:6 invalid-value: agents.c: c must be a mapping, not the number 3"},
		{"a chain that is too long", chain(9), "0.yaml:22:17 invalid-value: agents.b9.extends: b9 builds on more than 8 agents, one extending the other (extend an agent closer to the base)"},
		{"a chain that is as long as it may be", chain(8), ""},
		{"what is wrong in the base", "  b: {extends: c}\n  c: {model_id: m, max_rounds: -1}\n", "0.yaml:15:32 invalid-value: agents.c.max_rounds: max_rounds is -1; it must be 0 or more"},
		{"what is wrong because of the base", "  b: {extends: a, endpoint: {timeout: 1s}}\n", "0.yaml:14:19 missing-field: agents.b.endpoint.base_url: base_url is required (The peer's http or https URL.)"},
		{"no such agent", "patches: {agents: {b: {}}}\n", `0.yaml:14:20 unmatched-patch: patches.agents.b: there is no agent "b" to patch (patches change entries that exist; define it under agents)`},
		{"no such tool", "patches: {tools: {weather: {}}}\n", `0.yaml:14:19 unmatched-patch: patches.tools.weather: there is no tool "weather" to patch (patches change entries that exist; define it under tools)`},
		{"no such registry", "patches: {agent: {a: {}}}\n", `0.yaml:14:11 unknown-field: patches.agent: unknown field "agent" (did you mean "agents"?)`},
		{"nothing", "patches: {agents: {a: }}\n", "0.yaml:14:20 invalid-value: patches.agents.a: the patch of a has no fields (write null to remove the entry)"},
		{"a list", "patches: [a]\n", "0.yaml:14:10 invalid-value: patches: patches must be a mapping, not a list"},
		{"a wrong value", "patches: {agents: {a: {max_rounds: x}}}\n", `0.yaml:14:36 invalid-value: agents.a.max_rounds: max_rounds must be a whole number, not the text "x" | 0.yaml:8:3 the patched agent is here`},
		{"an unknown field", "patches: {agents: {a: {max_round: 1}}}\n", `0.yaml:14:24 unknown-field: agents.a.max_round: unknown field "max_round" (did you mean "max_rounds"?) | 0.yaml:8:3 the patched agent is here`},
		{"a field that is needed", "patches: {models: {m: {provider_id: null}}}\n", `0.yaml:14:24 missing-field: models.m.provider_id: provider_id is required (The provider that serves the model.) | 0.yaml:3:10 the patched model is here`},
		{"widening that is no truth value", "patches: {agents: {a: {allow_widening: maybe}}}\n", `0.yaml:14:40 invalid-value: patches.agents.a.allow_widening: allow_widening must be true or false, not the text "maybe"`},
		{"what is wrong in a part", "  b: {extends: a, budgets: {max_tokens: -1}}\n", "0.yaml:14:41 invalid-value: agents.b.budgets.max_tokens: max_tokens is -1; it must be between 1 and 1000000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, list := parseFiles(t, fleet+tt.text)
			list = f.Complete(list, nil)
			var got []string
			for _, d := range list {
				text := fmt.Sprintf("%s %s: %s: %s", d.Place(), d.Code, d.Path, d.Message)
				if d.Hint != "" {
					text += " (" + d.Hint + ")"
				}
				for _, r := range d.Related {
					text += " | " + r.Place() + " " + r.Message
				}
				got = append(got, text)
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

// chain returns n agents, each of which extends the previous one.
func chain(n int) string {
	text := "  b1: {extends: a}\n"
	for i := 2; i <= n; i++ {
		text += fmt.Sprintf("  b%d: {extends: b%d}\n", i, i-1)
	}
	return text
}

func TestSecretsThatArePatchedAwayAreHidden(t *testing.T) {
	t.Parallel()
	f, _ := parseFiles(t, "version: 1\nproviders: {p: {type: vendor, api_key: old-secret-of-the-file}}\nagents: {a: {model_id: 3}}\n",
		"version: 1\npatches: {providers: {p: {api_key: \"${KEY:-x}\"}}}\n")
	if text := string(f.Source("0.yaml")); strings.Contains(text, "old-secret") {
		t.Errorf("the source shows it: %s", text)
	}
}

func TestDecisionsNameThePlaces(t *testing.T) {
	t.Parallel()
	f, list := parseFiles(t, fleet+"  b:\n    extends: a\n    model_id: n\n    sections: {x: {a: 2}}\n",
		"version: 1\npatches:\n  agents:\n    a: {system_prompt: New.}\n    b: {budgets: null, max_rounds: 3}\n")
	if len(list) > 0 {
		t.Fatal(shows(list))
	}
	want := []config.Decision{
		{Field: "model_id", Place: "0.yaml:16:5"},
		{Field: "system_prompt", Place: "1.yaml:4:9", From: "a", Patched: true},
		{Field: "allowed_tools", Place: "0.yaml:11:5", From: "a"},
		{Field: "sections.retry", Place: "0.yaml:13:16", From: "a"},
		{Field: "sections.x.a", Place: "0.yaml:17:20"},
		{Field: "sections.x.b", Place: "0.yaml:13:51", From: "a"},
		{Field: "max_rounds", Place: "1.yaml:5:24", Patched: true},
		{Field: "budgets", Place: "1.yaml:5:9", Patched: true, Cleared: true},
	}
	if diff := cmp.Diff(want, f.Decisions("b")); diff != "" {
		t.Error(diff)
	}
	if f.Decisions("nobody") != nil {
		t.Error("decisions of nobody")
	}
}

// mergeModel is an independent implementation of RFC 7396.
func mergeModel(base any, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged := map[string]any{}
	if b, ok := base.(map[string]any); ok {
		merged = maps.Clone(b)
	}
	for name, value := range p {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergeModel(merged[name], value)
		}
	}
	return merged
}

// anyValue draws a JSON value with few names, so that names collide.
func anyValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.IntRange(0, 9).Draw(t, "number")
	case 2:
		return rapid.SampledFrom([]string{"", "a", "null", "x: y", "é"}).Draw(t, "text")
	case 3:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			list = append(list, anyValue(t, depth+1))
		}
		return list
	default:
		return anyObject(t, depth)
	}
}

func anyObject(t *rapid.T, depth int) map[string]any {
	o := map[string]any{}
	if depth > 3 {
		return o
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3, rapid.ID[string]).Draw(t, "names") {
		o[name] = anyValue(t, depth+1)
	}
	return o
}

func encodeJSON(t *rapid.T, v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decodeJSON(t *rapid.T, raw json.RawMessage) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v of %s", err, raw)
	}
	return v
}

// patchedSection returns the section x of an agent, in which patch is merged into base.
func patchedSection(t interface {
	Helper()
	Fatal(...any)
}, base, patch json.RawMessage,
) json.RawMessage {
	t.Helper()
	f, found := parseFiles(t, fmt.Sprintf(`{"version": 1, "agents": {"a": {"model_id": "m", "sections": {"x": %s}}}}`, base),
		fmt.Sprintf(`{"version": 1, "patches": {"agents": {"a": {"sections": {"x": %s}}}}}`, patch))
	if found.HasErrors() {
		t.Fatal(shows(found))
	}
	return f.Agents[0].Sections["x"]
}

func TestPropertyPatchesAreRFC7396(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, patch := encodeJSON(t, anyObject(t, 0)), encodeJSON(t, anyObject(t, 0))
		got := patchedSection(t, base, patch)
		want := mergeModel(decodeJSON(t, base), decodeJSON(t, patch))
		if diff := cmp.Diff(want, decodeJSON(t, got)); diff != "" {
			t.Fatalf("%s with %s is %s\n%s", base, patch, got, diff)
		}
	})
}

// draws an agent's fields, with the same few values in the base and the patch.
func anyAgent(t *rapid.T, null bool) map[string]any {
	a := map[string]any{}
	set := func(name string, values ...any) {
		if null {
			values = append(values, nil)
		}
		if i := rapid.IntRange(0, 2*len(values)).Draw(t, name); i < len(values) {
			a[name] = values[i]
		}
	}
	set("description", "one", "two")
	set("system_prompt", "You are.", "")
	set("max_rounds", 0, 7)
	set("allowed_tools", []any{}, []any{"t"}, []any{"t", "u"})
	set("excluded_tools", []any{"u"})
	set("delegates", []any{"b"}, []any{"c", "d"})
	set("reasoning_effort", "low", 50, map[string]any{"budget": 10})
	set("budgets", map[string]any{"max_tokens": 5}, map[string]any{"max_model_calls": 2, "max_tool_calls": 3})
	set("sections", map[string]any{"x": map[string]any{"a": 1}}, map[string]any{"x": map[string]any{"b": []any{nil}}, "y": 3})
	if null {
		set("sections", map[string]any{"x": nil}, map[string]any{"x": map[string]any{"a": nil, "c": 2}})
		set("budgets", map[string]any{"max_tokens": nil}, map[string]any{"max_duration": "1s"})
	}
	return a
}

// clear is a null that a patch puts into an agent that extends another, in the model.
type clearMark struct{}

// patchModel is mergeModel that records cleared values.
func patchModel(base, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged := map[string]any{}
	if b, ok := base.(map[string]any); ok {
		merged = maps.Clone(b)
	}
	for name, value := range p {
		if value == nil {
			merged[name] = clearMark{}
		} else {
			merged[name] = patchModel(merged[name], value)
		}
	}
	return merged
}

// extendModel merges an agent over its base.
func extendModel(base map[string]any, own map[string]any, outermost bool) map[string]any {
	merged := maps.Clone(base)
	if _, allows := own["allowed_tools"]; allows && outermost && own["allowed_tools"] != (any)(clearMark{}) {
		delete(merged, "allowed_tool_patterns")
	}
	for name, value := range own {
		isNames := outermost && (name == "allowed_tools" || name == "excluded_tools")
		switch v := value.(type) {
		case clearMark:
			delete(merged, name)
		case nil:
			if delete(merged, name); isNames {
				merged[name] = nil
			}
		case map[string]any:
			below, _ := merged[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			merged[name] = extendModel(below, v, false)
		default:
			merged[name] = value
		}
	}
	return merged
}

// withoutMarks drops cleared values.
func withoutMarks(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, value := range o {
		if _, cleared := value.(clearMark); !cleared {
			out[name] = withoutMarks(value)
		}
	}
	return out
}

// The result of files with patches and extended agents equals the document written by a model of
// the merge, and of the document that they are stored as.
func TestPropertyOverlaysEqualTheMergedDocument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		agents, patches := map[string]any{}, map[string]any{}
		ids := []string{"a", "b", "c", "d"}
		base := map[string]string{}
		for i, id := range ids {
			agent := anyAgent(t, i > 0)
			if i > 0 && rapid.Bool().Draw(t, "extends") {
				base[id] = ids[rapid.IntRange(0, i-1).Draw(t, "base")]
				agent["extends"] = base[id]
			}
			agent["model_id"] = "m"
			agents[id] = agent
			if rapid.Bool().Draw(t, "patched") {
				patches[id] = anyAgent(t, true)
			}
		}
		merged := map[string]any{}
		for _, id := range ids {
			entry := agents[id]
			if p, ok := patches[id]; ok {
				entry = patchModel(entry, p)
			}
			own, _ := entry.(map[string]any)
			if from, ok := base[id]; ok {
				below, _ := merged[from].(map[string]any)
				own = maps.Clone(own)
				delete(own, "extends")
				merged[id] = extendModel(below, own, true)
				continue
			}
			merged[id] = withoutMarks(own)
		}
		order := func(agents map[string]any) []byte { // sorted, as in JSON
			return encodeJSON(t, map[string]any{"version": 1, "agents": agents})
		}
		patchText := encodeJSON(t, map[string]any{"agents": patches})
		f, list := parseFiles(t, string(order(agents)), fmt.Sprintf(`{"version": 1, "patches": %s}`, patchText))
		want, wantList := parseFiles(t, string(order(merged)))
		if list.HasErrors() || wantList.HasErrors() {
			t.Fatalf("%s\n%s", shows(list), shows(wantList))
		}
		if diff := cmp.Diff(sortedSections(want.Agents), sortedSections(f.Agents)); diff != "" {
			t.Fatalf("(-model +files)\n%s\nof %s with %s", diff, order(agents), patchText)
		}
		for id := range base {
			if p, ok := patches[id].(map[string]any); ok {
				if value, set := p["allowed_tools"]; set && value == nil {
					return // only Parse sees that nothing is inherited
				}
			}
		}
		stored, err := f.Document()
		if err != nil {
			t.Fatal(err)
		}
		g, found := parseFiles(t, string(stored))
		if found.HasErrors() {
			t.Fatal(shows(found))
		}
		for _, agents := range [][]*spec.Agent{f.Agents, g.Agents} {
			for _, agent := range agents {
				if len(agent.ExcludedTools) == 0 {
					agent.ExcludedTools = nil // also excludes nothing
				}
			}
		}
		if diff := cmp.Diff(sortedSections(f.Agents), sortedSections(g.Agents)); diff != "" {
			t.Fatalf("(-files +documents)\n%s", diff)
		}
	})
}

// sortedSections returns agents whose section members are sorted.
func sortedSections(agents []*spec.Agent) []*spec.Agent {
	var out []*spec.Agent
	for _, a := range agents {
		c := a.Clone()
		for _, key := range slices.Sorted(maps.Keys(c.Sections)) {
			var v any
			if json.Unmarshal(c.Sections[key], &v) == nil {
				c.Sections[key], _ = json.Marshal(v)
			}
		}
		out = append(out, c)
	}
	return out
}

// Several files are stored as one document, in which patches are applied.
func TestStoredDocumentsArePatched(t *testing.T) {
	t.Parallel()
	const document = `{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"a":{"model_id":"m","system_prompt":"${X}","budgets":{"max_cost":1.50}},"b":{"extends":"a"},"c":{}}}`
	for _, tt := range []struct{ name, patches, want string }{
		{"changes", `{"agents":{"a":{"system_prompt":null,"max_rounds":3,"budgets":{"max_tokens":1},"allow_widening":true},"c":null},"allow_widening":true}`,
			`{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"a":{"model_id":"m","budgets":{"max_cost":1.50,"max_tokens":1},"max_rounds":3},"b":{"extends":"a"}}}`},
		{"cleared fields that would be inherited", `{"agents":{"b":{"system_prompt":null,"budgets":{"max_cost":null,"max_tokens":12345678901234567},"excluded_tools":null}}}`,
			`{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"a":{"model_id":"m","system_prompt":"${X}","budgets":{"max_cost":1.50}},"b":{"extends":"a","budgets":{"max_tokens":12345678901234567,"max_cost":null},"excluded_tools":null,"system_prompt":null},"c":{}}}`},
		{"nothing", `{"agents":null,"x-a":1}`, document},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := options(map[string]string{"X": "x"})
			f, found := config.Parse([]config.Source{
				{Name: "a.yaml", Data: []byte(document)}, {Name: "b.yaml", Data: []byte(`{"version": 1, "patches": ` + tt.patches + `}`)},
			}, opts)
			got, err := f.Document()
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s\n%s", got, err, tt.want, shows(found))
			}
		})
	}
}

// A document that files are stored as is read as the files are, and is stored as it is.
func FuzzPatches(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[null]}}`))
	f.Add([]byte(`[1]`), []byte(`{"a":{"b":null}}`))
	f.Add([]byte(`{"x":{}}`), []byte(`{"a":{"x":1e400}}`))
	f.Fuzz(func(t *testing.T, base, patch []byte) {
		if !json.Valid(base) || !json.Valid(patch) {
			return
		}
		files, found := parseFiles(t, fmt.Sprintf(`{"version": 1, "agents": {"a": {"model_id": "m", "sections": {"x": {"y": 1}}}, "b": {"extends": "a", "sections": {"x": %s}}}}`, base),
			fmt.Sprintf(`{"version": 1, "patches": {"agents": {"b": {"sections": {"x": %s}}}}}`, patch))
		if found.HasErrors() {
			return
		}
		stored, err := files.Document()
		if errors.As(err, new(*config.PlainSecretError)) {
			return // it is not stored
		}
		if err != nil {
			t.Fatal(err)
		}
		read, found := parseFiles(t, string(stored))
		again, err := read.Document()
		if found.HasErrors() || err != nil || string(again) != string(stored) {
			t.Fatalf("%s is stored as %s: %v\n%s", stored, again, err, shows(found))
		}
		if diff := cmp.Diff(sortedSections(files.Agents), sortedSections(read.Agents)); diff != "" {
			t.Errorf("(-files +stored)\n%s\nof %s with %s", diff, base, patch)
		}
	})
}

// A mapping that an agent inherits as a whole was patched where it comes from, and one that
// it adds to only where it says so itself.
func TestFieldsOfMappingsAreDecidedWhereTheirAgentWasPatched(t *testing.T) {
	t.Parallel()
	f, found := parseFiles(t, `{"version": 1, "providers": {"p": {"type": "vendor", "api_key": "k"}}, "models": {"m": {"provider_id": "p", "upstream_model": "u"}}, "agents": {
		"a": {"model_id": "m", "budgets": {"max_tokens": 1, "max_tool_calls": 1}},
		"b": {"extends": "a"},
		"c": {"extends": "b"},
		"d": {"extends": "a", "budgets": {"max_tool_calls": 4}}}}`,
		`{"version": 1, "patches": {"agents": {"a": {"budgets": {"max_tokens": 2}}, "d": {"budgets": {"max_model_calls": 5}}}}}`)
	if found.HasErrors() {
		t.Fatal(shows(found))
	}
	for path, want := range map[string]string{
		"agents.a.budgets.max_tokens":      "patches.agents.a.budgets.max_tokens",
		"agents.b.budgets.max_tokens":      "patches.agents.a.budgets.max_tokens",
		"agents.c.budgets.max_tokens":      "patches.agents.a.budgets.max_tokens",
		"agents.d.budgets.max_tokens":      "patches.agents.a.budgets.max_tokens",
		"agents.d.budgets.max_model_calls": "patches.agents.d.budgets.max_model_calls",
		"agents.d.budgets.max_tool_calls":  "agents.d.budgets.max_tool_calls",
	} {
		if got := f.DecidedPath(path); got != want {
			t.Errorf("%s is decided at %s, want %s", path, got, want)
		}
	}
}
