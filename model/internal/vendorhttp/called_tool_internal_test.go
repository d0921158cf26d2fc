package vendorhttp

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestNamesOfCalledToolsAreReadWithoutMarks(t *testing.T) {
	tools := []model.Tool{{Name: "look"}, {Name: "Find"}, {Name: "find"}, {Name: "functions.own"}, {Name: "mcp.read"}}
	for name, want := range map[string]string{
		"look": "look", " look\n": "look", "functions.look": "look", "functions.look:0": "look", "look:12": "look",
		"default_api.look": "look", "default_api:look": "look", "tools.look": "look", "Look": "look", "functions.LOOK": "look",
		"look<|channel|>commentary": "look", "look<|channel|>json": "look", "functions.look<|constrain|>json": "look",
		"functions.own": "functions.own", "functions.mcp.read": "mcp.read", "MCP.read": "mcp.read",
		// Names that match several tools or no tool.
		"FIND": "FIND", "other.look": "other.look", "lookup": "lookup", "functions.none": "functions.none", "": "", "<|channel|>": "<|channel|>",
	} {
		if got := calledTool(name, tools); got != want {
			t.Errorf("%q calls %q, want %q", name, got, want)
		}
	}
}

func TestRefusalsOfLongRequestsAreRecognized(t *testing.T) {
	for _, message := range []string{
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
		"the request exceeds the available context size. try increasing the context size",
		"Trying to keep the first 6002 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
		"Invalid request: Your request exceeded model token limit: 131072",
		"Range of input length should be [1, 30720]",
		"Prompt exceeds max length",
		"prompt token count of 200000 exceeds the limit of 128000",
		"too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs",
		"The input (5000 tokens) is longer than the model's context length (4096 tokens).",
		"the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
		"prompt too long; exceeded max context length by 904 tokens",
		"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
		"litellm.ContextWindowExceededError: too many tokens",
		"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
	} {
		if !SaysContextOverflow(message) {
			t.Errorf("%s", message)
		}
	}
	if SaysContextOverflow("max_tokens is too large: 16384. This model supports at most 8192 completion tokens") {
		t.Error("the limit of the output is taken for the window")
	}
}
