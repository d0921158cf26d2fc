package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/resolve"
	"go.uber.org/zap"
	"pgregory.net/rapid"
)

// checkFiles checks a configuration of several files.
func checkFiles(t *rapid.T, texts ...string) (*registry.Revision, diag.List) {
	var sources []config.Source
	for i, text := range texts {
		sources = append(sources, config.Source{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	components := shipped.Components()
	file, found := config.Parse(sources, config.Options{Kinds: components.ConfigKinds()})
	b := components.NewBuilder(zap.NewNop()).WithConfig(file)
	defer func() { _ = b.Close() }()
	rev, more := b.Check(t.Context())
	return rev, file.Complete(found, more)
}

// patchableFleet has tools, a guarding plugin, and agents that call and extend each other.
const patchableFleet = `version: 1
providers: {p: {type: scripted}}
models: {m: {provider_id: p, upstream_model: x}}
tools:
  wc: {type: command, description: Counts., command: [wc, -w]}
  ls: {type: command, description: Lists., command: [ls]}
agents:
  c: {model_id: m, allowed_tools: [ls]}
`

// anyRules draws agent fields that control permissions.
func anyRules(t *rapid.T, null bool) map[string]any {
	a := map[string]any{}
	set := func(name string, values ...any) {
		if null {
			values = append(values, nil)
		}
		if i := rapid.IntRange(0, 2*len(values)).Draw(t, name); i < len(values) {
			a[name] = values[i]
		}
	}
	rule := func(behavior string) any {
		return map[string]any{"permission": map[string]any{"default_behavior": "allow", "rules": []any{map[string]any{"tool": "wc", "behavior": behavior}}}}
	}
	set("description", "one", "two")
	set("allowed_tools", []any{}, []any{"wc"}, []any{"wc", "ls", "agent_run_c"})
	set("excluded_tools", []any{"ls"}, []any{"agent_run_c"})
	set("delegates", []any{"c"})
	set("plugin_ids", []any{"permission"})
	set("sections", rule("ask"), rule("deny"), rule("allow"), map[string]any{"permission": map[string]any{"default_behavior": "ask"}})
	return a
}

// A patch without allow_widening is rejected if and only if diff calls its changes widened; a patch
// with it never is.
func TestPropertyPatchesAreJudgedAsDiffDoes(t *testing.T) {
	t.Parallel()
	refused, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		a := anyRules(t, false)
		a["model_id"] = "m"
		b := anyRules(t, true)
		b["extends"] = "a"
		base := patchableFleet + fmt.Sprintf("  a: %s\n  b: %s\n", asText(t, a), asText(t, b))
		patches := map[string]any{"agents": map[string]any{"a": anyRules(t, true), "b": anyRules(t, true)}}
		if rapid.IntRange(0, 3).Draw(t, "tool") == 0 {
			patches["tools"] = map[string]any{"wc": map[string]any{"command": []any{"wc", "-l"}}}
		}
		before, list := checkFiles(t, base)
		if list.HasErrors() {
			t.Skip(list.Errors()[0].Error())
		}
		patch := func(allow bool) string {
			patches["allow_widening"] = allow
			return asText(t, map[string]any{"version": 1, "patches": patches})
		}
		after, list := checkFiles(t, base, patch(true))
		if list.HasErrors() {
			t.Skip(list.Errors()[0].Error())
		}
		diffs, err := resolve.Diff(t.Context(), before, after)
		if err != nil {
			t.Fatal(err)
		}
		widened := slices.ContainsFunc(diffs, func(d resolve.AgentDiff) bool { return d.Widened() })
		_, list = checkFiles(t, base, patch(false))
		list = list.Errors()
		if total++; widened {
			refused++
		}
		if widened != (len(list) > 0) {
			t.Fatalf("diff says %+v, the patch gives %v\n%s%s", diffs, list, base, patch(false))
		}
		for _, d := range list {
			if d.Code != diag.WidenedAccess || d.File != "1.yaml" || d.Line == 0 || len(d.Related) == 0 {
				t.Fatalf("got %+v", d)
			}
		}
	})
	if refused == 0 || refused == total {
		t.Errorf("%d of %d patches widen: little was compared", refused, total)
	}
}

func asText(t *rapid.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
