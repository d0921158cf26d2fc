package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
)

// compile compiles a tool that must be right.
func compile(t *testing.T, id string, tool tools.Tool) *toolset.Entry {
	t.Helper()
	entry, list := toolset.Compile(id, tool, toolset.Source{Kind: toolset.SourceGlobal})
	if list.HasErrors() {
		t.Fatal(list)
	}
	return entry
}

// execute calls a tool with arguments and returns the text of the result, with
// a leading "!" for an error.
func execute(t *testing.T, e *toolset.Entry, args string) string {
	t.Helper()
	r := e.Execute(t.Context(), &tools.Call{Tool: e.ID, Arguments: json.RawMessage(args)})
	text := model.PartsText(r.Content)
	if r.IsError {
		text = "!" + text
	}
	return text
}
