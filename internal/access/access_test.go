package access_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/access"
	"github.com/agentruntime/agentruntime/spec"
)

// fieldPaths returns the paths of the fields of a record, and of the records in it.
func fieldPaths(typ reflect.Type, at string) (paths []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("key") == "true" {
			continue
		}
		of := f.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[spec.Effort]() {
			paths = append(paths, fieldPaths(of, path)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

func TestEveryFieldIsClassified(t *testing.T) {
	t.Parallel()
	paths := fieldPaths(reflect.TypeFor[spec.Agent](), "")
	for _, path := range paths {
		if !access.Covers(path) {
			t.Errorf("%s is not classified: add it to the table in fields.go", path)
		}
	}
	for _, f := range access.Fields() {
		exists := func(path string) bool { return path == f.Path || strings.HasPrefix(path, f.Path+".") }
		if !slices.ContainsFunc(paths, exists) {
			t.Errorf("an agent has no field %s", f.Path)
		}
		if (f.Class == access.Neutral) != (f.Widens == "") {
			t.Errorf("%s is %s, but widens when %q", f.Path, f.Class, f.Widens)
		}
	}
}

func TestOverlaysMayNotSetUnknownFields(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{"max_rounds": true, "budgets": true, "endpoint": false, "plugin_ids": false, "nonsense": false, "": false} {
		if got := access.OverlaysMaySet(field); got != want {
			t.Errorf("overlays may set %q: %v", field, got)
		}
	}
}

func decode(t *testing.T, text string) *spec.Agent {
	t.Helper()
	a := new(spec.Agent)
	if err := json.Unmarshal([]byte(text), a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

func widened(before, after *spec.Agent) (paths []string) {
	for _, f := range access.Widened(before, after) {
		paths = append(paths, f.Path)
	}
	return paths
}

// Each row has two values of a field: to change the first to the second widens what the
// path says, and to change it back widens nothing.
var widenings = []struct{ path, strict, lax string }{
	{"variables", `{"variables":{"type":"object","required":["a"]}}`, `{}`},
	{"variables", `{"variables":{"type":"object","required":["a"]}}`, `{"variables":{"type":"object"}}`},
	{"max_rounds", `{"max_rounds":3}`, `{"max_rounds":0}`},
	{"max_rounds", `{"max_rounds":3}`, `{"max_rounds":4}`},
	{"max_rounds", `{"max_rounds":3}`, `{}`},
	{"max_rounds", `{}`, `{"max_rounds":17}`},
	{"max_rounds", `{}`, `{"max_rounds":0}`},
	{"on_max_rounds", `{"on_max_rounds":"fail"}`, `{}`},
	{"on_max_rounds", `{"on_max_rounds":"fail"}`, `{"on_max_rounds":"stop"}`},
	{"on_max_rounds", `{"on_max_rounds":"fail"}`, `{"on_max_rounds":"finalize"}`},
	{"max_continuation_retries", `{}`, `{"max_continuation_retries":3}`},
	{"max_continuation_retries", `{"max_continuation_retries":0}`, `{}`},
	{"on_truncation", `{"on_truncation":"fail"}`, `{"on_truncation":"accept"}`},
	{"on_truncation", `{"on_truncation":"fail"}`, `{}`},
	{"stop_conditions.type", `{"stop_conditions":[{"type":"max_rounds","rounds":3}]}`, `{"stop_conditions":[]}`},
	{"stop_conditions.type", `{"stop_conditions":[{"type":"stop_on_tool","tool_name":"a"},{"type":"max_rounds","rounds":3}]}`, `{"stop_conditions":[{"type":"max_rounds","rounds":3}]}`},
	{"stop_conditions.rounds", `{"stop_conditions":[{"type":"max_rounds","rounds":3}]}`, `{"stop_conditions":[{"type":"max_rounds","rounds":0}]}`},
	{"stop_conditions.timeout", `{"stop_conditions":[{"type":"timeout","timeout":"3s"}]}`, `{"stop_conditions":[{"type":"timeout","timeout":"4s"}]}`},
	{"stop_conditions.timeout", `{"stop_conditions":[{"type":"timeout","timeout":"3s"}]}`, `{"stop_conditions":[{"type":"timeout"}]}`},
	{"stop_conditions.max_total", `{"stop_conditions":[{"type":"token_budget","max_total":3}]}`, `{"stop_conditions":[{"type":"token_budget","max_total":30}]}`},
	{"stop_conditions.max", `{"stop_conditions":[{"type":"consecutive_errors","max":3}]}`, `{"stop_conditions":[{"type":"consecutive_errors","max":30}]}`},
	{"stop_conditions.tool_name", `{"stop_conditions":[{"type":"stop_on_tool","tool_name":"a"},{"type":"stop_on_tool","tool_name":"b"}]}`, `{"stop_conditions":[{"type":"stop_on_tool","tool_name":"b"}]}`},
	{"stop_conditions.tool_name", `{"stop_conditions":[{"type":"stop_on_tool","tool_name":"a"}]}`, `{"stop_conditions":[{"type":"stop_on_tool"}]}`},
	{"stop_conditions.pattern", `{"stop_conditions":[{"type":"content_match","pattern":"a"}]}`, `{"stop_conditions":[{"type":"content_match"}]}`},
	{"stop_conditions.window", `{"stop_conditions":[{"type":"loop_detection","window":3}]}`, `{"stop_conditions":[{"type":"loop_detection","window":4}]}`},
	{"request", `{}`, `{"request":{"omit":["user"]}}`},
	{"request", `{}`, `{"request":{"set":{"max_price":9}}}`},
	{"service_tier", `{}`, `{"service_tier":"priority"}`},
	{"reasoning_effort", `{"reasoning_effort":"low"}`, `{"reasoning_effort":"max"}`},
	{"reasoning_effort", `{"reasoning_effort":"low"}`, `{"reasoning_effort":50}`},
	{"reasoning_effort", `{"reasoning_effort":"off"}`, `{}`},
	{"reasoning_effort", `{}`, `{"reasoning_effort":"max"}`},
	{"reasoning_effort", `{"reasoning_effort":{"budget":100}}`, `{"reasoning_effort":{"budget":200}}`},
	{"reasoning_effort", `{"reasoning_effort":"off"}`, `{"reasoning_effort":{"budget":200}}`},
	{"budgets.max_tokens", `{"budgets":{"max_tokens":3}}`, `{"budgets":{"max_tokens":4}}`},
	{"budgets.max_tokens", `{"budgets":{"max_tokens":3}}`, `{"budgets":{}}`},
	{"budgets.max_tokens", `{"budgets":{"max_tokens":3}}`, `{}`},
	{"budgets.max_cost", `{"budgets":{"max_cost":3}}`, `{"budgets":{"max_cost":4}}`},
	{"budgets.max_duration", `{"budgets":{"max_duration":"3s"}}`, `{}`},
	{"budgets.max_model_calls", `{"budgets":{"max_model_calls":3}}`, `{"budgets":{"max_model_calls":4}}`},
	{"budgets.max_tool_calls", `{"budgets":{"max_tool_calls":0}}`, `{}`},
	{"loop_detection.enabled", `{"loop_detection":{}}`, `{}`},
	{"loop_detection.enabled", `{"loop_detection":{}}`, `{"loop_detection":{"enabled":false}}`},
	{"loop_detection.consecutive_threshold", `{"loop_detection":{}}`, `{"loop_detection":{"consecutive_threshold":5}}`},
	{"loop_detection.hard_cutoff_threshold", `{"loop_detection":{}}`, `{"loop_detection":{"hard_cutoff_threshold":100}}`},
	{"tool_budgets.max_calls", `{"tool_budgets":{"a":{"max_calls":1}}}`, `{}`},
	{"tool_budgets.max_calls", `{"tool_budgets":{"a":{"max_calls":1},"b":{"max_calls":1}}}`, `{"tool_budgets":{"a":{"max_calls":2},"b":{"max_calls":1}}}`},
	{"output_schema.schema", `{"output_schema":{"schema":{"type":"object"}}}`, `{}`},
	{"output_schema.schema", `{"output_schema":{"schema":{"enum":["a"]}}}`, `{"output_schema":{"schema":{"enum":["a","b"]}}}`},
	{"output_schema.on_mismatch", `{"output_schema":{"schema":{}}}`, `{"output_schema":{"schema":{},"on_mismatch":"accept"}}`},
	{"max_handoffs", `{"max_handoffs":0}`, `{}`},
	{"max_handoffs", `{}`, `{"max_handoffs":9}`},
	{"context_policy.max_context_tokens", `{"context_policy":{"max_context_tokens":1000}}`, `{"context_policy":{"max_context_tokens":2000}}`},
	{"context_policy.max_context_tokens", `{"context_policy":{}}`, `{"context_policy":{"max_context_tokens":200001}}`},
	{"context_policy.max_context_tokens", `{"context_policy":{}}`, `{}`},
	{"context_policy.max_output_tokens", `{"context_policy":{"max_output_tokens":10}}`, `{"context_policy":{}}`},
	{"context_policy.min_recent_messages", `{"context_policy":{}}`, `{"context_policy":{"min_recent_messages":11}}`},
	{"context_policy.summary_max_tokens", `{"context_policy":{}}`, `{"context_policy":{"summary_max_tokens":2000}}`},
	{"endpoint.base_url", `{}`, `{"endpoint":{"base_url":"https://a.example"}}`},
	{"endpoint.timeout", `{"endpoint":{"base_url":"https://a.example","timeout":"1s"}}`, `{"endpoint":{"base_url":"https://a.example"}}`},
}

// incomparable are changes that widen in both directions, because nothing is known.
var incomparable = []struct{ path, one, other string }{
	{"variables", `{"variables":{"properties":{"a":{"type":"string"}}}}`, `{"variables":{"properties":{"b":{"type":"string"}}}}`},
	{"output_schema.schema", `{"output_schema":{"schema":{"$ref":"#/$defs/a"}}}`, `{"output_schema":{"schema":{"$ref":"#/$defs/b"}}}`},
	{"reasoning_effort", `{"reasoning_effort":"low"}`, `{"reasoning_effort":{"budget":200}}`},
	{"reasoning_effort", `{}`, `{"reasoning_effort":"low"}`},
	{"on_max_rounds", `{}`, `{"on_max_rounds":"finalize"}`},
	{"stop_conditions.pattern", `{"stop_conditions":[{"type":"content_match","pattern":"a"}]}`, `{"stop_conditions":[{"type":"content_match","pattern":"b"}]}`},
	{"budgets.max_cost", `{"budgets":{"max_cost":1,"currency":"USD"}}`, `{"budgets":{"max_cost":1,"currency":"EUR"}}`},
	{"tool_budgets.max_calls", `{"tool_budgets":{"a":{"max_calls":1}}}`, `{"tool_budgets":{"b":{"max_calls":1}}}`},
	{"endpoint.backend", `{"endpoint":{"target":"t"}}`, `{"endpoint":{"target":"t","backend":"provider"}}`},
	{"endpoint.base_url", `{"endpoint":{"base_url":"https://a.example"}}`, `{"endpoint":{"base_url":"https://b.example"}}`},
	{"endpoint.target", `{"endpoint":{"target":"t"}}`, `{"endpoint":{"target":"u"}}`},
	{"endpoint.auth", `{"endpoint":{"auth":{"type":"bearer","token":"t"}}}`, `{"endpoint":{}}`},
	{"endpoint.options", `{"endpoint":{"options":{"a":1}}}`, `{"endpoint":{}}`},
}

func TestChangesWidenInOneDirection(t *testing.T) {
	t.Parallel()
	for _, tt := range widenings {
		strict, lax := decode(t, tt.strict), decode(t, tt.lax)
		if got := widened(strict, lax); !slices.Contains(got, tt.path) {
			t.Errorf("%s to %s widens %q, not %s", tt.strict, tt.lax, got, tt.path)
		}
		if got := widened(lax, strict); slices.Contains(got, tt.path) {
			t.Errorf("%s to %s widens %q", tt.lax, tt.strict, got)
		}
	}
	for _, tt := range incomparable {
		one, other := decode(t, tt.one), decode(t, tt.other)
		for _, pair := range [][2]*spec.Agent{{one, other}, {other, one}} {
			if got := widened(pair[0], pair[1]); !slices.Contains(got, tt.path) {
				t.Errorf("%s and %s: %q is widened, not %s", tt.one, tt.other, got, tt.path)
			}
		}
	}
}

// Fields that are compared when agents are resolved need tests elsewhere.
func TestEveryComparedFieldIsTried(t *testing.T) {
	t.Parallel()
	tried := make(map[string]bool)
	for _, tt := range widenings {
		tried[tt.path] = true
	}
	for _, tt := range incomparable {
		tried[tt.path] = true
	}
	for _, f := range access.Fields() {
		if f.Compared() && !tried[f.Path] {
			t.Errorf("no test widens %s", f.Path)
		}
	}
}

// A variable of a tenant may have any value.
func TestATenantDecidesItsOwnEffort(t *testing.T) {
	t.Parallel()
	of := func(e spec.Effort) *spec.Agent { return &spec.Agent{ReasoningEffort: &e} }
	variable, most, off := of(spec.Effort{Variable: "E"}), of(spec.Effort{Level: "max"}), of(spec.Effort{Level: "off"})
	for _, tt := range []struct {
		before, after *spec.Agent
		want          bool
	}{{off, variable, true}, {variable, most, true}, {variable, of(spec.Effort{Variable: "E"}), false}, {variable, off, false}, {most, variable, false}} {
		if got := len(widened(tt.before, tt.after)) > 0; got != tt.want {
			t.Errorf("%s to %s widens: %v", tt.before.ReasoningEffort, tt.after.ReasoningEffort, got)
		}
	}
}

func TestStricterAgentsWidenNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`{}`, `{"stop_conditions":[{"type":"max_rounds","rounds":3}],"loop_detection":{},"tool_budgets":{"a":{"max_calls":1}},"output_schema":{"schema":{}},"context_policy":{}}`},
		{`{"stop_conditions":[{"type":"max_rounds","rounds":3},{"type":"timeout","timeout":"9s"}]}`, `{"stop_conditions":[{"type":"timeout","timeout":"8s"},{"type":"max_rounds","rounds":2}]}`},
		{`{"variables":{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":9}}}}`, `{"variables":{"type":"object","title":"t","properties":{"a":{"type":"string","maxLength":8},"b":{}},"required":["a"],"additionalProperties":false}}`},
		{`{"output_schema":{"schema":{"properties":{"n":{"minimum":1,"maximum":9}},"items":{"enum":[1,2]}}}}`, `{"output_schema":{"schema":{"properties":{"n":{"minimum":2,"maximum":8,"multipleOf":2}},"items":{"enum":[2]}}}}`},
		{`{"endpoint":{"backend":"provider","target":"p","options":{"model":"a"}}}`, `{"endpoint":{"backend":"provider","target":"p","options":{"model":"b"}}}`},
		{`{"endpoint":{"base_url":"https://a.example","auth":{"type":"bearer","token":"old"}}}`, `{"endpoint":{"base_url":"https://a.example","auth":{"type":"bearer","token":"new"}}}`},
	} {
		if got := widened(decode(t, tt[0]), decode(t, tt[1])); len(got) > 0 {
			t.Errorf("%s to %s widens %q", tt[0], tt[1], got)
		}
	}
}

// Naming a property allows it where others are not allowed.
func TestASchemaThatNamesMorePropertiesMayAllowMore(t *testing.T) {
	t.Parallel()
	before := decode(t, `{"variables":{"type":"object","properties":{"a":{}},"additionalProperties":false}}`)
	for _, after := range []string{
		`{"variables":{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}}`,
		`{"variables":{"type":"object","properties":{"a":{}}}}`,
		`{"variables":true}`,
	} {
		if got := widened(before, decode(t, after)); !slices.Contains(got, "variables") {
			t.Errorf("%s widens %q", after, got)
		}
	}
}

func TestEqualAgentsWidenNothing(t *testing.T) {
	t.Parallel()
	a := &spec.Agent{MaxRounds: new(3), ContextPolicy: &spec.ContextPolicy{}, Endpoint: &spec.Endpoint{Timeout: new(spec.Duration(time.Second))}}
	if got := widened(a, a.Clone()); len(got) > 0 {
		t.Errorf("it widens %q", got)
	}
}
