package window_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/plugins/window"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

// documented returns a policy with the defaults that the fields document.
func documented(t *testing.T) *spec.ContextPolicy {
	t.Helper()
	var fields func(typ reflect.Type) map[string]json.RawMessage
	fields = func(typ reflect.Type) map[string]json.RawMessage {
		values := map[string]json.RawMessage{}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			value, has := f.Tag.Lookup("default")
			switch {
			case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
				values[name], _ = json.Marshal(fields(f.Type.Elem()))
			case has && f.Type.Kind() == reflect.String:
				values[name], _ = json.Marshal(value)
			case has:
				values[name] = json.RawMessage(value)
			}
		}
		return values
	}
	data, _ := json.Marshal(fields(reflect.TypeFor[spec.ContextPolicy]()))
	var p spec.ContextPolicy
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestAnEmptyPolicyHasTheDocumentedDefaults(t *testing.T) {
	want := window.Resolve(documented(t), 0, 0)
	for name, p := range map[string]*spec.ContextPolicy{"none": nil, "empty": {}, "empty preview": {ToolResultPreview: &spec.ToolResultPreview{}}} {
		if diff := cmp.Diff(want, window.Resolve(p, 0, 0)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if want.ContextTokens != 200_000 || want.Preview.MaxLines != 24 || want.CompactAt != 0 || want.SafeFrontier {
		t.Errorf("the defaults are %+v", want)
	}
}

func TestAPolicyIsHeldToItsModel(t *testing.T) {
	type numbers struct{ Context, Output, CompactAt int }
	for name, tt := range map[string]struct {
		policy         spec.ContextPolicy
		window, output int
		want           numbers
	}{
		"unknown model":               {spec.ContextPolicy{}, 0, 0, numbers{200_000, 16_384, 0}},
		"smaller model":               {spec.ContextPolicy{}, 128_000, 8192, numbers{128_000, 8192, 0}},
		"larger model":                {spec.ContextPolicy{}, 1_000_000, 64_000, numbers{200_000, 16_384, 0}},
		"policy for a larger model":   {spec.ContextPolicy{MaxContextTokens: new(1_000_000), MaxOutputTokens: new(64_000)}, 1_000_000, 64_000, numbers{1_000_000, 64_000, 0}},
		"tiny model":                  {spec.ContextPolicy{}, 8192, 0, numbers{8192, 6144, 0}},
		"output takes nearly all":     {spec.ContextPolicy{MaxContextTokens: new(100), MaxOutputTokens: new(99)}, 0, 0, numbers{100, 75, 0}},
		"one token":                   {spec.ContextPolicy{MaxContextTokens: new(1)}, 0, 0, numbers{1, 0, 0}},
		"threshold":                   {spec.ContextPolicy{AutocompactThreshold: new(1000)}, 0, 0, numbers{200_000, 16_384, 1000}},
		"threshold beyond the window": {spec.ContextPolicy{AutocompactThreshold: new(1_000_000)}, 128_000, 8000, numbers{128_000, 8000, 120_000}},
		"numbers without end": {
			spec.ContextPolicy{MaxContextTokens: new(1<<63 - 1), MaxOutputTokens: new(1<<63 - 1)}, 0, 0, numbers{1<<63 - 1, 6917529027641081855, 0},
		},
	} {
		p := window.Resolve(&tt.policy, tt.window, tt.output)
		if diff := cmp.Diff(tt.want, numbers{p.ContextTokens, p.OutputTokens, p.CompactAt}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
