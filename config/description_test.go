package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

func TestAgentsThatAServerListsNeedADescription(t *testing.T) {
	t.Parallel()
	const agents = "version: 1\nagents:\n  a: {model_id: m}\n  b: {model_id: m, description: Helps.}\n  c: {extends: b}\n  d: {endpoint: {backend: a2a, base_url: https://d.example}}\n"
	for server, want := range map[string][]string{
		"":                                       nil,
		"server: null":                           nil,
		"server: {listen: none}":                 nil,
		"server: {listen: 127.0.0.1:0}":          {"agents.a", "agents.d"},
		"server: {agent_runs: {enabled: false}}": {"agents.a"},
		"server: {a2a: {enabled: false}, agent_runs: {enabled: false}}":        nil,
		"server: {listen: 127.0.0.1:0}\ndefaults: {description: Not on cards}": {"agents.a", "agents.d"},
	} {
		_, list := config.Parse([]config.Source{{Name: "f", Data: []byte(agents + server + "\n")}}, options(nil))
		var got []string
		for _, d := range list {
			if d.Code == diag.NoDescription {
				got = append(got, d.Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: warnings at %q, want %q: %s", server, got, want, shows(list))
		}
	}
}

func TestManyAgentsWithoutDescriptionAreCounted(t *testing.T) {
	t.Parallel()
	text := strings.Builder{}
	text.WriteString("version: 1\nserver: {listen: 127.0.0.1:0}\nagents:\n")
	for i := range 10000 {
		fmt.Fprintf(&text, "  a%d: {model_id: m}\n", i)
	}
	_, list := config.Parse([]config.Source{{Name: "f", Data: []byte(text.String())}}, options(nil))
	if len(list) != diag.MaxAlike || !strings.HasSuffix(list[len(list)-1].Message, "; and 9990 more are not listed") {
		t.Errorf("%d diagnostics: %s", len(list), shows(list[:min(20, len(list))]))
	}
}
