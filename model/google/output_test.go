package google

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

const outputSchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

// formed requests an answer with a schema from an older model with a tool, which can give it only
// by calling our function.
func formed() *model.Request {
	req := hello()
	req.Model = oldModel
	req.Tools = []model.Tool{{Name: "weather", Parameters: json.RawMessage(outputSchema)}}
	req.Output = &spec.OutputSchema{Name: "place", Schema: json.RawMessage(outputSchema)}
	return req
}

// TestOutput checks how an answer's schema is requested.
func TestOutput(t *testing.T) {
	for _, tt := range []struct {
		name     string
		model    string
		choice   model.ToolMode
		tools    bool
		native   bool   // asked for as such
		declared string // names of the declared functions
		config   string
	}{
		{"new, no tools", newModel, model.ToolsAuto, false, true, "", `null`},
		{"new, tools", newModel, model.ToolsAuto, true, true, "weather", `null`},
		{"new, tools forbidden", newModel, model.ToolsNone, true, true, "weather", `{"functionCallingConfig":{"mode":"NONE"}}`},
		{"unknown, tools", "gemini-flash-latest", model.ToolsAuto, true, true, "weather", `null`},
		{"old, no tools", oldModel, model.ToolsAuto, false, true, "", `null`},
		{"old, tools", oldModel, model.ToolsAuto, true, false, "weather set_model_response", `null`},
		{"old, tools forbidden", oldModel, model.ToolsNone, true, true, "", `null`},
		{"old, tools required", oldModel, model.ToolsRequired, true, false, "weather", `{"functionCallingConfig":{"mode":"ANY"}}`},
		{"old, tool named", oldModel, model.ToolsNamed, true, false, "weather", `{"functionCallingConfig":{"allowedFunctionNames":["weather"],"mode":"ANY"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := formed()
			req.Model, req.ToolChoice.Mode = tt.model, tt.choice
			if tt.choice == model.ToolsNamed {
				req.ToolChoice.Name = "weather"
			}
			if !tt.tools {
				req.Tools = nil
			}
			// Earlier calls stay, whatever is declared.
			req.Messages = append(req.Messages,
				model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("c", "weather", `{}`)}},
				model.Message{Role: model.RoleTool, Parts: []model.Part{vendortest.ToolResult("c", "weather", false, model.Text("wet"))}})
			b := encoded(t, req)
			if len(b.Contents) != 3 {
				t.Errorf("the conversation has %d contents", len(b.Contents))
			}
			g := b.GenerationConfig
			if native := g != nil && g.ResponseMIMEType == "application/json" && vendortest.JSON(t, g.ResponseJsonSchema) == vendortest.JSON(t, parse(t, outputSchema)); native != tt.native {
				t.Errorf("the settings are %s", vendortest.JSON(t, g))
			}
			var names []string
			for _, tool := range b.Tools {
				for _, f := range tool.FunctionDeclarations {
					names = append(names, f.Name)
				}
			}
			if got := strings.Join(names, " "); got != tt.declared || vendortest.JSON(t, b.ToolConfig) != tt.config {
				t.Errorf("told of %q with %s", got, vendortest.JSON(t, b.ToolConfig))
			}
			hidden := strings.Contains(tt.declared, outputFunction)
			if told := strings.Contains(vendortest.JSON(t, b.SystemInstruction), outputFunction); told != hidden {
				t.Errorf("the instructions are %s", vendortest.JSON(t, b.SystemInstruction))
			}
			if hidden {
				if got := vendortest.JSON(t, b.Tools[0].FunctionDeclarations[1].ParametersJsonSchema); got != vendortest.JSON(t, parse(t, outputSchema)) {
					t.Errorf("the function takes %s", got)
				}
			}
		})
	}
}

// TestOutputFunctionHasANameOfItsOwn checks that a tool may have our function's name and is
// distinguished from it.
func TestOutputFunctionHasANameOfItsOwn(t *testing.T) {
	req := formed()
	req.Tools = append(req.Tools, model.Tool{Name: "set_model_response"}, model.Tool{Name: "set_model_response_2"})
	e := vendor.Serve(t, vendortest.Answer([]byte(`data: {"candidates":[{"finishReason":"STOP","content":{"parts":[`+
		`{"functionCall":{"name":"set_model_response","args":{"a":1}}},`+
		`{"functionCall":{"name":"set_model_response_3","args":{"city":"Rome"}}}]}}]}`+"\n\n")))
	events, failure := vendortest.Ask(t, e, req)
	if failure != nil {
		t.Fatal(failure)
	}
	answer := vendortest.Assemble(t, events)
	want := []model.Part{vendortest.ToolCall("call_0_0", "set_model_response", `{"a":1}`), model.Text(`{"city":"Rome"}`)}
	if diff := cmp.Diff(want, answer.Message().Parts); diff != "" || answer.Reason != model.FinishToolCalls {
		t.Errorf("the answer ends with %s (-want +got):\n%s", answer.Reason, diff)
	}
}

// TestOutputThatIsNoObject checks that an answer with any schema fits into the arguments of a
// function and is extracted unchanged.
func TestOutputThatIsNoObject(t *testing.T) {
	req := formed()
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`)}
	for args, want := range map[string]string{
		`{"answer":[1,9007199254740993]}`: `[1,9007199254740993]`,
		`{"other":1}`:                     `{"other":1}`,
		`null`:                            `{}`,
	} {
		e := vendor.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			vendortest.Answer([]byte(`data: {"candidates":[{"finishReason":"STOP","content":{"parts":[{"functionCall":{"name":"set_model_response","args":`+args+`}}]}}]}`+"\n\n"))(w, r)
		})
		events, failure := vendortest.Ask(t, e, req)
		if failure != nil || vendortest.Assemble(t, events).Text() != want || events[len(events)-1].Reason != model.FinishStop {
			t.Errorf("the arguments %s become %v, %v", args, events, failure)
		}
	}
	got := vendortest.JSON(t, encoded(t, req).Tools[0].FunctionDeclarations[1].ParametersJsonSchema)
	want := `{"$defs":{"n":{"type":"integer"}},"properties":{"answer":{"items":{"$ref":"#/$defs/n"},"type":"array"}},"required":["answer"],"type":"object"}`
	if got != want {
		t.Errorf("the function takes %s, want %s", got, want)
	}
}
