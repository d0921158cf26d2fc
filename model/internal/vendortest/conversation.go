package vendortest

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// PNG is the beginning of an image.
var PNG = []byte("\x89PNG\r\n\x1a\n1234")

// FullConversation returns a request with everything that all vendors support.
func FullConversation(name string) *model.Request {
	return &model.Request{
		Model: name,
		Messages: []model.Message{
			model.System("Be <brief> & kind."),
			{Role: model.RoleUser, Parts: []model.Part{
				model.Text("What is this?"),
				{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: PNG}},
				{Type: model.PartFile, Blob: &model.Blob{MediaType: "application/pdf", Data: []byte("%PDF-1.7")}},
				{Type: model.PartFile, Blob: &model.Blob{MediaType: "text/csv; charset=utf-8", Data: []byte("a,b"), Name: "table.csv"}},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				Reasoning("Think.", "foreign", "rs_1"), model.Text("Let me "), model.Text("see."),
				ToolCall("call_1", "look", `{"x":1}`), ToolCall("call_2", "look", ``), ToolCall("call_3", "look", `{"broken`),
			}},
			{Role: model.RoleTool, Parts: []model.Part{
				ToolResult("call_1", "look", false, model.Text("A "), model.Text("cat."), model.Part{Type: model.PartImage, Blob: &model.Blob{MediaType: "image/png", Data: PNG}}),
				ToolResult("call_2", "look", true, model.Text("no such file")),
				ToolResult("call_3", "look", true),
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{Reasoning("Cut off.", "foreign", "rs_2")}},
			model.User("Go on."), model.User(""), model.System("Mind the time."),
		},
		Tools: []model.Tool{
			{Name: "look", Description: "Looks <at> it", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)},
			{Name: "now"},
		},
		SessionID: "session-1",
		Cache:     true,
		Params: model.Params{
			Temperature: new(0.2), TopP: new(0.9), MaxOutputTokens: 2048, ReasoningEffort: &spec.Effort{Level: "low"},
		},
	}
}
