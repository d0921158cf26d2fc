package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/spec"
)

// A prompt keeps references for the turn, and text from environment variables is never read as such
// a reference.
func TestPromptsKeepReferencesToTheTurn(t *testing.T) {
	t.Parallel()
	declared := "variables: {type: object, properties: {a: {type: string}}}"
	for text, want := range map[string]string{
		"${turn.a}": "A", "$${turn.a}": "${turn.a}", "$$${turn.a}": "$A", "${X}": "${turn.a}", "${X}${turn.a}": "${turn.a}A", "$${X} ${turn.a}$": "${X} A$",
	} {
		f, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(lines(
			"version: 1", "agents:", "  a: {model_id: m, system_prompt: \""+text+"\", "+declared+"}",
		))}}, options(map[string]string{"X": "${turn.a}"}))
		if list.HasErrors() {
			t.Errorf("%s: %s", text, shows(list))
			continue
		}
		if got := f.Agents[0].SystemPrompt.Fill(func(spec.Reference) string { return "A" }); got != want {
			t.Errorf("%s shows %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"agents: {a: {model_id: m, system_prompt: \"${turn.a b}\"}}":                                      `"a b" is not a valid variable name`,
		"agents: {a: {model_id: m, sections: {x: \"${turn.a}\"}}}":                                        "${turn.a} can stand in the system_prompt of an agent only",
		"schedules: {s: {cron: \"@daily\", agent: a, prompt: \"${turn.a}\"}}\nagents: {a: {model_id: m}}": "${turn.a} can stand in the system_prompt of an agent only",
	} {
		if _, list := parseDocument(t, "version: 1\n"+text+"\n"); len(list) != 1 || !strings.Contains(list[0].Message, want) {
			t.Errorf("%s: %s", text, shows(list))
		}
	}
	_, list := parseDocument(t, "version: 1\ntenants: {variables: {a-b: {description: \"${UNSET}\"}}}\n")
	if got := shows(list); !strings.Contains(got, "cannot be the name") || !strings.Contains(got, "UNSET is not set") {
		t.Errorf("an unset variable hides a wrong name: %s", got)
	}
}

// Texts keep references for the tenant where allowed, and text from environment variables is never
// read as such a reference.
func TestTextsKeepReferencesToTheTenant(t *testing.T) {
	t.Parallel()
	env := options(map[string]string{"X": "${tenant.A}"})
	for text, want := range map[string][]string{
		"system_prompt: \"${tenant.A} ${X} ${turn.b} $${tenant.C}\"": {"A"},
		"system_prompt: \"${X}\"":                                    nil,
	} {
		f, list := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(lines(
			"version: 1", "agents:", "  a: {model_id: m, reasoning_effort: \"${tenant.EFFORT}\", "+text+", variables: {type: object, properties: {b: {}}}}",
			"tenants: {variables: {A: {default: x, description: For tests.}, KEY: {secret: true}}}",
		))}}, env)
		if list.HasErrors() {
			t.Errorf("%s: %s", text, shows(list))
			continue
		}
		if got := f.Agents[0].SystemPrompt.References(spec.TenantScope); !slices.Equal(got, want) {
			t.Errorf("%s refers to %q", text, got)
		}
		if got := f.Agents[0].ReasoningEffort.Variable; got != "EFFORT" {
			t.Errorf("the effort is that of %q", got)
		}
		if got := f.TenantRules.Variables; *got["A"].Default != "x" || !got["KEY"].Secret {
			t.Errorf("it declares %v", got)
		}
	}
	for text, want := range map[string]string{
		"agents: {a: {model_id: m, system_prompt: \"${tenant.a b}\"}}":         `"a b" is not a valid variable name; write ${tenant.NAME}`,
		"agents: {a: {model_id: m, description: \"${tenant.a}\"}}":             "${tenant.a} can stand in the system_prompt and the reasoning_effort of an agent, and in the url and headers of http and mcp tools, the query of http tools and the secrets of webhooks of workflows only",
		"agents: {a: {model_id: m, reasoning_effort: \"${turn.a}\"}}":          "${turn.a} can stand in the system_prompt of an agent only",
		"agents: {a: {model_id: m, reasoning_effort: \"very ${tenant.a}\"}}":   "reasoning_effort cannot be",
		"agents: {a: {model_id: m}}\ntenants: {variables: {a-b: {}}}":          `"a-b" cannot be the name of a variable`,
		"agents: {a: {model_id: m}}\ntenants: {variables: {a: {secrt: true}}}": `unknown field "secrt"`,
	} {
		if _, list := parseDocument(t, "version: 1\n"+text+"\n"); len(list) != 1 || !strings.Contains(list[0].Message, want) {
			t.Errorf("%s: %s", text, shows(list))
		}
	}
}
