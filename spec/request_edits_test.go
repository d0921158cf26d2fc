package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestRequestsKeepWhatMakesThemOnes(t *testing.T) {
	for path, ok := range map[string]bool{
		"stream_options": true, "tools.function.strict": true, "messages.reasoning_content": true, "messages.name.first": true,
		"messages": false, "toolConfig": false, "messages.content": false, "messages.tool_calls": false, "messages.tool_calls.function.name": false,
		"tools.function.name": false, "tools.function": false, "tools.input_schema": false, "contents.parts": false, "input.type": false,
		"": false, "a..b": false,
	} {
		e := spec.RequestEdits{Omit: []string{path}}
		if found := e.Validate(); (len(found) == 0) != ok {
			t.Errorf("omit %q: %v", path, found)
		}
	}
	for name, ok := range map[string]bool{"seed": true, "messages": false, "toolConfig": false, "": false, "text.verbosity": false} {
		e := spec.RequestEdits{Set: map[string]json.RawMessage{name: json.RawMessage("1")}}
		if found := e.Validate(); (len(found) == 0) != ok {
			t.Errorf("set %q: %v", name, found)
		}
	}
}
