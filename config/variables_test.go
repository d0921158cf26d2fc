package config_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
)

// A prompt keeps what a turn fills in, and nothing that a variable of the environment
// brings is read as that.
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
		if got := f.Agents[0].SystemPrompt.Fill(func(string) string { return "A" }); got != want {
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
}
