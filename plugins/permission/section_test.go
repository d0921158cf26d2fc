package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/scripted"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestSchemaIsStrict(t *testing.T) {
	t.Parallel()
	compiled, err := schema.Compile(permission.New().Descriptor().Sections[0].Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		`[]`, `{"default":"ask"}`, `{"default_behavior":"terminate"}`, `{"default_behavior":null}`, `{"rules":{}}`, `{"rules":["wc"]}`,
		`{"rules":[{}]}`, `{"rules":[{"tool":""}]}`, `{"rules":[{"tool":"wc","behaviour":"deny"}]}`, `{"rules":[{"tool":"wc","behavior":"block"}]}`,
		`{"rules":[{"tool":"wc","scope":1}]}`, `{"rules":[{"tool":"wc","scope":"forever"}]}`,
	} {
		if found, err := compiled.ValidateJSON(t.Context(), []byte(bad)); err != nil || found == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

// TestDecodeFailsClosed proves that no rule is ever left out.
func TestDecodeFailsClosed(t *testing.T) {
	t.Parallel()
	type found struct {
		Code diag.Code
		Path string
	}
	for _, tt := range []struct {
		section string
		want    []found
	}{
		{`{"rules":[{"tool":"wc"},{"tool":"bash(rm *","behavior":"deny"},{"tool":"t(a =~ \"(\")","behavior":"allow"}]}`,
			[]found{{diag.InvalidPattern, "rules[1].tool"}, {diag.InvalidPattern, "rules[2].tool"}}},
		// What the schema keeps out must not slip through here.
		{`{"rules":[{"tool":""}]}`, []found{{diag.InvalidPattern, "rules[0].tool"}}},
		{`{"default_behavior":"terminate"}`, []found{{diag.InvalidPluginConfig, "default_behavior"}}},
		{`{"rules":[{"tool":"wc","behavior":"block"}]}`, []found{{diag.InvalidPluginConfig, "rules[0].behavior"}}},
		{`{"rules":[{"tool":"wc","scope":"forever"}]}`, []found{{diag.InvalidPluginConfig, "rules[0].scope"}}},
		{`[]`, []found{{diag.InvalidPluginConfig, ""}}},
	} {
		settings, list := permission.New().Descriptor().Sections[0].Decode(json.RawMessage(tt.section))
		var got []found
		for _, d := range list {
			got = append(got, found{d.Code, d.Path})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", tt.section, diff)
		}
		// Even who ignores what was found gets no gate that lets calls through.
		_, errs := execution.Build(&spec.Agent{}, []execution.Loaded{{ID: "permission", Plugin: permission.New()}},
			map[plugins.Claim]any{{Plugin: "permission", Key: permission.SectionKey}: settings})
		if len(errs) != 1 {
			t.Errorf("%s: the plugin registers: %v", tt.section, errs)
		}
	}
}

func TestRegisterNeedsItsSection(t *testing.T) {
	t.Parallel()
	_, errs := execution.Build(&spec.Agent{}, []execution.Loaded{{ID: "permission", Plugin: permission.New()}}, nil)
	if len(errs) != 1 {
		t.Errorf("got %v", errs)
	}
}

// TestBuild proves that a bad rule makes a whole configuration invalid, at its
// place.
func TestBuild(t *testing.T) {
	t.Parallel()
	demo, err := scripted.New(scripted.Script{})
	if err != nil {
		t.Fatal(err)
	}
	var exec model.Executor = demo
	_, err = builder.New().
		WithProvider("demo", exec).
		WithModel(spec.Model{ID: "default", ProviderID: "demo", UpstreamModel: "demo"}).
		WithPlugin("permission", permission.New()).
		WithAgentSpec(spec.Agent{
			ID: "assistant", ModelID: "default", PluginIDs: []string{"permission"},
			Sections: spec.Sections{"permission": json.RawMessage(`{"rules":[{"tool":"/(/","behavior":"deny"}]}`)},
		}).Build()
	list := diag.FromError(err)
	if len(list) != 1 || list[0].Code != diag.InvalidPattern || list[0].Path != "agents.assistant.sections.permission.rules[0].tool" {
		t.Errorf("got %+v", list)
	}
}
