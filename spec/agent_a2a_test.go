package spec_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestMistakesInA2AOfAnAgent(t *testing.T) {
	t.Parallel()
	skill := spec.AgentSkill{ID: "s", Description: "d", Tags: []string{"t"}}
	for _, tt := range []struct {
		a2a  spec.AgentA2A
		want string // "code path", "" is valid
	}{
		{spec.AgentA2A{}, ""},
		{spec.AgentA2A{Reply: "message", DocumentationURL: "https://x.example/y", Skills: []spec.AgentSkill{skill}}, ""},
		{spec.AgentA2A{Reply: "mesage"}, "invalid-value reply"},
		{spec.AgentA2A{DocumentationURL: "javascript:x"}, "invalid-value documentation_url"},
		{spec.AgentA2A{DocumentationURL: "https://a:b@x.example"}, "invalid-value documentation_url"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{skill, skill}}, "duplicate-id skills[1].id"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{{Description: "d", Tags: []string{"t"}}}}, "missing-field skills[0].id"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{{ID: "s", Tags: []string{"t"}}}}, "missing-field skills[0].description"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{{ID: "s", Description: "d"}}}, "missing-field skills[0].tags"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{{ID: "s", Description: "d", Tags: []string{""}}}}, "invalid-value skills[0].tags[0]"},
		{spec.AgentA2A{Skills: []spec.AgentSkill{{ID: "s", Description: strings.Repeat("d", 3000), Tags: []string{"t"}}}}, "invalid-value skills[0].description"},
	} {
		got := ""
		for _, d := range tt.a2a.Validate() {
			got = strings.TrimSpace(got + " " + string(d.Code) + " " + d.Path)
		}
		if got != tt.want {
			t.Errorf("%+v: diagnostics are %q, want %q", tt.a2a, got, tt.want)
		}
	}
}
