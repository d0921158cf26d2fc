package openai

import (
	"testing"
)

// TestValidate checks settings that other vendors lack.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{API: ChatCompletions, ReasoningSummary: "concise"}, "", ""},
		{Config{API: Responses, Organization: "org-1", Project: "proj-1"}, "", ""},
		{Config{API: "assistants"}, "api", `"assistants"`},
		{Config{ReasoningSummary: "long"}, "reasoning_summary", `"long"`},
		{Config{Organization: "a\nb"}, "organization", "line break"},
		{Config{Project: "a\x00b"}, "project", "line break"},
	} {
		vendors[Responses].CheckConfig(t, &tt.config, tt.path, tt.said)
	}
}
