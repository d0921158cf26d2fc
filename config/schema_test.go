package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema(testKinds())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON turns YAML into what a JSON Schema looks at.
func asJSON(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Whatever the one accepts or refuses, the other does.
func TestSchemaAndLoaderAgree(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	model := "{provider_id: p, upstream_model: x%s}"
	agent := "version: 1\nagents: {a: {model_id: m, %s}}\n"
	tool := "version: 1\ntools: {t: {type: command, command: [x], %s}}\n"
	for _, tt := range []struct {
		text  string
		valid bool
	}{
		{"version: 1\n", true},
		{"version: 1.0\n", true},
		{"version: 2\n", false},
		{"version: \"1\"\n", false},
		{"agents: {}\n", false},
		{"version: 1\nbogus: 1\n", false},
		{"version: 1\nproviders:\nmodels: {}\nmodel_pools: ~\ntools:\nplugins:\nremote_agents:\nagents:\ndefaults:\n", true},
		{"version: 1\nproviders: []\n", false},
		{"version: 1\nremote_agents: {}\n", false},

		{"version: 1\nproviders: {p: {type: vendor, api_key: x}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: \"\"}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: \"${X}\"}}\n", true},
		{"version: 1\nproviders: {p: {api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: nothing, api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: echo, api_key: x}}\n", false},
		{"version: 1\nproviders: {p: {type: echo, delay: 60}}\n", true},
		{"version: 1\nproviders: {p: {type: echo, delay: 60.5}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, base_url: ftp}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, base_url: \"${X}\"}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: b}}}\n", true},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: 1}}}\n", false},
		{"version: 1\nproviders: {p: {type: vendor, api_key: x, headers: {a: ~}}}\n", false},
		{"version: 1\nproviders: {p: }\n", false},
		{"version: 1\nproviders: {\"a b\": {type: echo}}\n", false},
		{"version: 1\nproviders: {a.b: {type: echo}}\n", true},
		{"version: 1\ntools: {a.b: {type: command, command: [x]}}\n", false},

		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, "") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", context_window: 0") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", context_window: ~") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [text]}") + "}\n", true},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [smell]}") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", modalities: {input: [~]}") + "}\n", false},
		{"version: 1\nmodels: {m: " + fmt.Sprintf(model, ", pricing: {input_per_million: -1}") + "}\n", false},
		{"version: 1\nmodels: {m: {provider_id: p}}\n", false},
		{"version: 1\nmodels: {m: {provider_id: , upstream_model: x}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: [{model_id: m}]}}\n", true},
		{"version: 1\nmodel_pools: {p: {members: [{weight: 2}]}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: ~}}\n", false},
		{"version: 1\nmodel_pools: {p: {members: [{model_id: m}], switch: {quota_retry_after_threshold_secs: 2}}}\n", true},

		{fmt.Sprintf(tool, "timeout: 10s"), true},
		{fmt.Sprintf(tool, "timeout: 1h2m3.5s"), true},
		{fmt.Sprintf(tool, "timeout: \"0\""), true},
		{fmt.Sprintf(tool, "timeout: \"${X}\""), true},
		{fmt.Sprintf(tool, "timeout: 10"), false},
		{fmt.Sprintf(tool, "timeout: 10 s"), false},
		{fmt.Sprintf(tool, "timeout: -1s"), false},
		{fmt.Sprintf(tool, "timeout: ~"), true},
		{fmt.Sprintf(tool, "timeout_ms: 1.5"), true},
		{fmt.Sprintf(tool, "timeout_secs: 1"), true},
		{fmt.Sprintf(tool, "timeout_ms: -1"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1s"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1, timeout: 1s"), false},
		{fmt.Sprintf(tool, "timeout_ms: 1, timeout_secs: 1"), false},
		{fmt.Sprintf(tool, "timeout_ms: ~, timeout: 1s"), false},
		{fmt.Sprintf(tool, "retries: 255"), true},
		{fmt.Sprintf(tool, "retries: 256"), false},
		{fmt.Sprintf(tool, "retries: -1"), false},
		{fmt.Sprintf(tool, "retries: 2.0"), true},
		{fmt.Sprintf(tool, "retries: 2.5"), false},
		{fmt.Sprintf(tool, "limits: {memory: 1}"), true},
		{fmt.Sprintf(tool, "limits: {}"), false},
		{fmt.Sprintf(tool, "limits: ~"), true},
		{fmt.Sprintf(tool, "mounts: [{from: x}]"), true},
		{fmt.Sprintf(tool, "mounts: [{from: x, to: y}]"), false},
		{fmt.Sprintf(tool, "parameters: {a: [1, ~]}"), true},
		{fmt.Sprintf(tool, "extra: 3"), true},
		{fmt.Sprintf(tool, "effect: twice"), false},
		{fmt.Sprintf(tool, "effect: \"${X}\""), true},
		{"version: 1\ntools: {t: {type: command, command: []}}\n", false},
		{"version: 1\ntools: {t: {type: command, command: x}}\n", false},
		{"version: 1\nplugins: {l: {type: log}}\n", true},
		{"version: 1\nplugins: {l: {type: log, level: loud}}\n", false},
		{"version: 1\nremote_agents: [{name: a, base_url: \"http://x\"}]\n", true},
		{"version: 1\nremote_agents: [{name: a}]\n", false},

		{fmt.Sprintf(agent, "max_rounds: 0"), true},
		{fmt.Sprintf(agent, "max_rounds: -1"), false},
		{fmt.Sprintf(agent, "max_rounds: \"1\""), false},
		{fmt.Sprintf(agent, "id: a"), false},
		{fmt.Sprintf(agent, "registry: a"), false},
		{fmt.Sprintf(agent, "allowed_tools: ~"), true},
		{fmt.Sprintf(agent, "allowed_tools: [a]"), true},
		{fmt.Sprintf(agent, "allowed_tools: [1]"), false},
		{fmt.Sprintf(agent, "allowed_tools: a"), false},
		{fmt.Sprintf(agent, "delegates: ~"), true},
		{fmt.Sprintf(agent, "description: 3"), false},
		{fmt.Sprintf(agent, "description: \"\""), true},
		{fmt.Sprintf(agent, "system_prompt: x"), true},
		{fmt.Sprintf(agent, "system_prompt: [x]"), false},
		{fmt.Sprintf(agent, "system_prompt: {file: x, more: y}"), false},
		{fmt.Sprintf(agent, "system_prompt: {}"), false},
		{fmt.Sprintf(agent, "reasoning_effort: low"), true},
		{fmt.Sprintf(agent, "reasoning_effort: lower"), false},
		{fmt.Sprintf(agent, "reasoning_effort: 3"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 101"), false},
		{fmt.Sprintf(agent, "reasoning_effort: off"), true},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 1}"), true},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 0}"), false},
		{fmt.Sprintf(agent, "reasoning_effort: ~"), true},
		{fmt.Sprintf(agent, "stop_conditions: [{type: timeout, seconds: 3}]"), true},
		{fmt.Sprintf(agent, "stop_conditions: [{type: timeout, rounds: 3}]"), false},
		{fmt.Sprintf(agent, "stop_conditions: [{rounds: 3}]"), false},
		{fmt.Sprintf(agent, "stop_conditions: [{type: never}]"), false},
		{fmt.Sprintf(agent, "sections: {retry: {max_retries: 1}, unknown: 3}"), true},
		{fmt.Sprintf(agent, "context_policy: {max_context_tokens: 0}"), false},
		{fmt.Sprintf(agent, "context_policy: {compaction_mode: x}"), false},
		{fmt.Sprintf(agent, "context_policy: {min_savings_ratio: 0.5, tool_result_preview: {max_lines: 1}}"), true},
		{fmt.Sprintf(agent, "context_policy: {min_savings_ratio: 1.01}"), false},
		{fmt.Sprintf(agent, "context_policy: {tool_result_preview: {max_lines: 0}}"), false},
		{fmt.Sprintf(agent, "context_policy: {enable_prompt_cache: maybe}"), false},
		{fmt.Sprintf(agent, "context_policy: {max_tokens: 5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 1, max_cost: 0, max_duration: 1ms, max_model_calls: 1, max_tool_calls: 0}"), true},
		{fmt.Sprintf(agent, "budgets: {}"), true},
		{fmt.Sprintf(agent, "budgets: ~"), true},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 0}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tokens: 1000000001}"), false},
		{fmt.Sprintf(agent, "budgets: {max_cost: -0.5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_cost: 1000000.5}"), false},
		{fmt.Sprintf(agent, "budgets: {max_duration: 10}"), false},
		{fmt.Sprintf(agent, "budgets: {max_model_calls: 1000001}"), false},
		{fmt.Sprintf(agent, "budgets: {max_tool_calls: 1000001}"), false},
		{fmt.Sprintf(agent, "budgets: {tokens: 5}"), false},
		{fmt.Sprintf(agent, "loop_detection: {}"), true},
		{fmt.Sprintf(agent, "loop_detection: {enabled: false}"), true},
		{fmt.Sprintf(agent, "loop_detection: true"), false},
		{fmt.Sprintf(agent, "loop_detection: {consecutive_threshold: 2, hard_cutoff_threshold: 3}"), true},
		{fmt.Sprintf(agent, "loop_detection: {consecutive_threshold: 1}"), false},
		{fmt.Sprintf(agent, "loop_detection: {hard_cutoff_threshold: 101}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {max_calls: 0}, read: {max_calls: 1000}}"), true},
		{fmt.Sprintf(agent, "tool_budgets: {look: 3}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {}}"), false},
		{fmt.Sprintf(agent, "tool_budgets: {look: {max_calls: 1001}}"), false},
		{fmt.Sprintf(agent, "tool_budgets: [look]"), false},
		{fmt.Sprintf(agent, "output_schema: {name: mood, schema: {type: object}}"), true},
		{fmt.Sprintf(agent, "output_schema: {name: a b, schema: {type: object}}"), false},
		{fmt.Sprintf(agent, "output_schema: {name: mood}"), false},
		{fmt.Sprintf(agent, "output_schema: {schema: ~}"), false},
		{fmt.Sprintf(agent, "output_schema: {type: object}"), false},
		{fmt.Sprintf(agent, "handoffs: [b], max_handoffs: 0"), true},
		{fmt.Sprintf(agent, "handoffs: b"), false},
		{fmt.Sprintf(agent, "max_handoffs: -1"), false},
		{fmt.Sprintf(agent, "reasoning_effort: 0"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 100"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 50.0"), true},
		{fmt.Sprintf(agent, "reasoning_effort: 1.5"), false},
		{fmt.Sprintf(agent, "reasoning_effort: -1"), false},
		{fmt.Sprintf(agent, "reasoning_effort: \"50\""), false},
		{fmt.Sprintf(agent, "reasoning_effort: {budget: 1, level: low}"), false},
		{fmt.Sprintf(agent, "endpoint: {base_url: \"http://x\", timeout_ms: 5, auth: {type: bearer, token: x}}"), true},
		{fmt.Sprintf(agent, "endpoint: {}"), false},
		{fmt.Sprintf(agent, "endpoint: {base_url: \"http://x\", auth: {type: basic, token: x}}"), false},
		{"version: 1\ndefaults: {max_rounds: 3, description: x}\n", true},
		{"version: 1\ndefaults: {endpoint: {base_url: \"http://x\"}}\n", false},
		{"version: 1\ndefaults: {id: x}\n", false},
		{"version: 1\ndefaults: []\n", false},
	} {
		_, list := parse(t, tt.text)
		if got := !list.HasErrors(); got != tt.valid {
			t.Errorf("%sloader: valid %v, want %v\n%s", tt.text, got, tt.valid, shows(list))
		}
		err := schema.Validate(asJSON(t, tt.text))
		if got := err == nil; got != tt.valid {
			t.Errorf("%sschema: valid %v, want %v\n%v", tt.text, got, tt.valid, err)
		}
	}
}

func TestSchemaOfSections(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for text, valid := range map[string]bool{"1": true, "-1": false, "x": false} {
		err := schema.Validate(asJSON(t, "version: 1\nagents: {a: {sections: {retry: {max_retries: "+text+"}}}}\n"))
		if (err == nil) != valid {
			t.Errorf("max_retries %s: %v", text, err)
		}
	}
}

func TestSchemaIsStable(t *testing.T) {
	t.Parallel()
	one := config.Schema(testKinds())
	for range 5 {
		if !bytes.Equal(one, config.Schema(testKinds())) {
			t.Fatal("the schema differs from call to call")
		}
	}
	var doc map[string]any
	if err := json.Unmarshal(one, &doc); err != nil {
		t.Fatal(err)
	}
	closed(t, "", doc)
	for _, want := range []string{`"default": 16`, `"default": "300s"`, `"default": true`, "Model calls allowed in one turn"} {
		if !bytes.Contains(one, []byte(want)) {
			t.Errorf("the schema lacks %s", want)
		}
	}
	if empty := config.Schema(config.Kinds{}); !json.Valid(empty) {
		t.Error("the schema without kinds is no JSON")
	}
}

// closed checks that no record allows unknown fields.
func closed(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if _, record := v["properties"]; record && v["type"] == "object" && v["allOf"] == nil {
			if open := v["additionalProperties"]; open != false {
				t.Errorf("%s allows unknown fields", path)
			}
		}
		for name, child := range v {
			if name != "sections" {
				closed(t, path+"/"+name, child)
			}
		}
	case []any:
		for i, child := range v {
			closed(t, path+"/"+strconv.Itoa(i), child)
		}
	}
}

// generator makes documents from a schema: mostly valid ones, each mistake
// with a small probability.
type generator struct {
	t    *rapid.T
	defs map[string]any
}

func (g *generator) odd() bool { return rapid.IntRange(0, 40).Draw(g.t, "odd") == 0 }

func (g *generator) pick(list []any) any {
	return list[rapid.IntRange(0, len(list)-1).Draw(g.t, "pick")]
}

// scalars are values of any type that a field may be given by mistake.
var scalars = []any{nil, true, 3, -1, 1.5, "text", "${X}", "10s", "", []any{}, []any{"a"}, map[string]any{}, map[string]any{"bogus": 1}}

func (g *generator) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || len(s) == 0 || g.odd() {
		return g.pick(scalars)
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.defs[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	if any, ok := s["anyOf"].([]any); ok {
		return g.value(g.pick(any), depth)
	}
	if values, ok := s["enum"].([]any); ok {
		return g.pick(values)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	switch typ := s["type"].(type) {
	case []any:
		return g.typed(g.pick(typ).(string), s, depth)
	case string:
		return g.typed(typ, s, depth)
	}
	return g.pick(scalars)
}

func (g *generator) typed(typ string, s map[string]any, depth int) any {
	switch typ {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(g.t, "bool")
	case "integer", "number":
		v := rapid.IntRange(0, 300).Draw(g.t, "number")
		if least, ok := s["minimum"].(float64); ok && !g.odd() {
			v = max(v, int(math.Ceil(least)))
		}
		if most, ok := s["maximum"].(float64); ok && !g.odd() {
			v = min(v, int(most))
		}
		return v
	case "string":
		pattern, _ := s["pattern"].(string)
		for _, text := range []string{"10s", "http://x", "${X}"} {
			if pattern != "" && regexp.MustCompile(pattern).MatchString(text) {
				return text
			}
		}
		return rapid.SampledFrom([]string{"a", "b c", "x: y", "[", "${X}", "$$", "é", "null", "1", "2024-10-01", " x ", "a\nb"}).Draw(g.t, "text")
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(g.t, "length") {
			list = append(list, g.value(s["items"], depth+1))
		}
		if len(list) == 0 && s["minItems"] != nil && !g.odd() {
			list = append(list, g.value(s["items"], depth+1))
		}
		return list
	default:
		return g.object(s, depth)
	}
}

func (g *generator) object(s map[string]any, depth int) any {
	if all, ok := s["allOf"].([]any); ok {
		if first, ok := all[0].(map[string]any); ok && first["then"] != nil {
			return g.value(g.pick(all).(map[string]any)["then"], depth)
		}
	}
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	var names []string
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	required, _ := s["required"].([]any)
	for _, name := range names {
		if name == "file" || name == "retry" {
			continue // a file would have to exist, a section is not the loader's
		}
		needed := slices.Contains(required, any(name)) && !g.odd()
		if needed || rapid.IntRange(0, 3+depth).Draw(g.t, "present") == 0 {
			out[name] = g.value(properties[name], depth+1)
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		for _, id := range []string{"a", "b-1"}[:rapid.IntRange(0, 2).Draw(g.t, "entries")] {
			out[id] = g.value(more, depth+1)
		}
	}
	if g.odd() {
		out["bogus"] = 1
	}
	return out
}

// Documents made from the schema are accepted or refused by both, apart from
// what only records know about themselves.
func TestSchemaAndLoaderAgreeOnGeneratedDocuments(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	var root map[string]any
	if err := json.Unmarshal(config.Schema(testKinds()), &root); err != nil {
		t.Fatal(err)
	}
	defs, _ := root["$defs"].(map[string]any)
	valid, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t, defs: defs}
		doc := g.object(root, 0)
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		invalid := schema.Validate(decoded)
		_, list := config.Parse([]config.Source{{Name: "c", Data: raw}}, options(nil))
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return d.Severity != diag.Error || saysTheRecord(d) })
		if total++; invalid == nil {
			valid++
		}
		if (invalid == nil) != (len(list) == 0) {
			var violation *jsonschema.ValidationError
			errors.As(invalid, &violation)
			t.Fatalf("the schema says %v, the loader\n%s\nof %s", invalid, shows(list), raw)
		}
	})
	if share := 100 * valid / total; share < 20 || share > 95 {
		t.Errorf("%d %% of %d documents were valid: little was compared", share, total)
	}
}

// saysTheRecord reports whether a diagnostic is one that Validate of a record
// gives, which a schema of shapes does not know.
func saysTheRecord(d diag.Diagnostic) bool {
	for _, text := range []string{
		"a pool needs at least one member", "every member is", "is a member twice", "listed twice",
		"knowledge_cutoff is", "regular expression", "must lie between", "leaves nothing of", "more than the context window", "weight is",
		"timeout is", "it must be low or high", "is defined twice", "is the id of a model and",
		"must be more than", "JSON Schema written as an object",
	} {
		if strings.Contains(d.Message, text) {
			return true
		}
	}
	segments, _ := diag.ParsePath(d.Path)
	if len(segments) == 3 && segments[0].Key == "agents" && segments[2].Key == "model_id" && d.Code == diag.MissingField {
		return true // the defaults may name the model
	}
	return d.Code == diag.InvalidEndpoint || d.Code == diag.InvalidID && strings.HasSuffix(d.Path, ".name")
}

func TestReference(t *testing.T) {
	t.Parallel()
	page := config.Reference(testKinds())
	for _, want := range []string{
		"| `max_rounds` | whole number, 0 or more | `16` | Model calls allowed in one turn; 0 means unlimited. |",
		"### provider `type: vendor`",
		"| `timeout`, `timeout_ms`, `timeout_secs` | time span | `60s` |",
		"| `api_key` | text | **required** | The key. A secret: never shown. |",
		"## stop_condition",
		"Only with type `timeout`.",
		"| `retry` | How often a model call is repeated. |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "| `id` |") || page != config.Reference(testKinds()) {
		t.Error("the page has an id, or differs from call to call")
	}
}
