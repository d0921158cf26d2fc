package settings_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
)

func TestPromptsAndResourcesOfMCPHaveDifferentNames(t *testing.T) {
	t.Parallel()
	s := settings.Server{
		MCPPrompts:   []settings.MCPPrompt{{Name: "a"}, {Name: "b"}, {Name: "a"}},
		MCPResources: []settings.MCPResource{{URI: "x:a"}, {URI: "x:a"}},
	}
	var at []string
	for _, d := range s.Validate() {
		if d.Code == diag.DuplicateID {
			at = append(at, d.Path)
		}
	}
	if len(at) != 2 || at[0] != "mcp_prompts[2].name" || at[1] != "mcp_resources[1].uri" {
		t.Errorf("the duplicates are at %v", at)
	}
}
