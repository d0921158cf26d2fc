package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/spec"
)

func someTools(n int) []model.Tool {
	list := make([]model.Tool, n)
	for i := range list {
		list[i] = model.Tool{Name: fmt.Sprintf("tool_%d", i), Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	}
	return list
}

// TestTheReportIsForcedOrOffered checks how an answer with a schema is requested: the model must
// report if it has nothing else to call.
func TestTheReportIsForcedOrOffered(t *testing.T) {
	for _, tt := range []struct {
		name     string
		tools    int
		mode     model.ToolMode
		conceded concessions

		wantTools int // with the report
		choice    string
		told      bool
		budget    int
	}{
		{"no tools", 0, model.ToolsAuto, concessions{}, 1, "tool", false, 0},
		{"tools", 2, model.ToolsAuto, concessions{}, 3, "", true, 8000},
		{"tools that must not be called", 2, model.ToolsNone, concessions{}, 3, "tool", false, 0},
		{"tools that must be called", 2, model.ToolsRequired, concessions{}, 2, "any", false, 0},
		{"a model that thinks unasked", 0, model.ToolsAuto, concessions{thinksUnasked: true}, 1, "tool", false, -1},
		{"a model that cannot be forced", 0, model.ToolsAuto, concessions{unforced: true}, 1, "", true, 8000},
		{"a model that cannot be forced, with tools", 2, model.ToolsNone, concessions{unforced: true}, 1, "", true, 8000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := hello()
			req.Messages = append([]model.Message{model.System("Be brief.")}, req.Messages...)
			req.Tools, req.ToolChoice.Mode = someTools(tt.tools), tt.mode
			req.ReasoningEffort = &spec.Effort{Level: "high"}
			req.Model = reportModel
			req.Output = &spec.OutputSchema{Name: "city", Schema: json.RawMessage(citySchema)}
			body, raw := encoded(t, req, tt.conceded)
			choice := ""
			if body.ToolChoice != nil {
				choice = body.ToolChoice.Type
			}
			if len(body.Tools) != tt.wantTools || choice != tt.choice || budgetOf(body) != tt.budget {
				t.Errorf("%d tools, choice %q, budget %d: %s", len(body.Tools), choice, budgetOf(body), raw)
			}
			if told := len(body.System) == 2 && strings.Contains(body.System[1].Text, reportName); told != tt.told {
				t.Errorf("the model is told to report is %v: %+v", told, body.System)
			}
			last := body.Tools[len(body.Tools)-1]
			if offered := last.Name == reportName; offered != (tt.mode != model.ToolsRequired) {
				t.Errorf("the last tool is %s", last.Name)
			} else if offered && (!jsonEqual(t, citySchema, string(last.InputSchema)) || !strings.Contains(last.Description, "called city")) {
				t.Errorf("the report is %+v", last)
			}
			if choice == "tool" && (body.ToolChoice.Name != reportName || !body.ToolChoice.DisableParallelToolUse) {
				t.Errorf("the choice is %+v", *body.ToolChoice)
			}
		})
	}
}

// TestTheReportIsCachedWithTheTools: the report is the last tool.
func TestTheReportIsCachedWithTheTools(t *testing.T) {
	req := hello()
	req.Tools, req.Cache = someTools(2), true
	req.Model = reportModel
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
	body, _ := encoded(t, req, concessions{})
	if body.Tools[1].CacheControl != nil || body.Tools[2].CacheControl == nil {
		t.Errorf("the marks are at %+v", body.Tools)
	}
}

func TestTheReportHasANameOfItsOwn(t *testing.T) {
	req := hello()
	req.Tools = []model.Tool{{Name: "final_report"}, {Name: "final_report_2"}}
	req.Model = reportModel
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
	body, _ := encoded(t, req, concessions{})
	if body.Tools[2].Name != "final_report_3" {
		t.Errorf("the report is called %s", body.Tools[2].Name)
	}
	a := newAnswer(&report{name: "final_report_3"})
	a.out = &vendorhttp.Batch{}
	if err := a.startCall(&block{}, "toolu_1", "final_report"); err != nil || len(a.out.Events) != 1 {
		t.Errorf("a call of the agent's own tool gives %+v (%v)", a.out.Events, err)
	}
}

func TestReportSchema(t *testing.T) {
	for schema, want := range map[string]string{
		citySchema:                     citySchema,
		listSchema:                     `{"type":"object","properties":{"value":` + listSchema + `},"required":["value"]}`,
		`{}`:                           `{"type":"object","properties":{"value":{}},"required":["value"]}`,
		`{"type":"object","anyOf":[]}`: `{"type":"object","properties":{"value":{"type":"object","anyOf":[]}},"required":["value"]}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}}`: `{"type":"object","required":["value"],"$defs":{"x":{"type":"object"}},
			"properties":{"value":{"$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}}}}`,
	} {
		got, wrapped, err := reportSchema(json.RawMessage(schema))
		if err != nil || !jsonEqual(t, want, string(got)) || wrapped != (schema != citySchema) {
			t.Errorf("the schema %s is sent as %s (%v)", schema, got, err)
		}
	}
	req := hello()
	req.Model = reportModel
	req.Output = &spec.OutputSchema{Schema: json.RawMessage(`[]`)}
	if _, err := offline(t, Config{}, nil).planRequest(req, concessions{}); model.AsError(err).Class != model.InvalidRequest {
		t.Errorf("a schema that is a list gives %v", err)
	}
}

func TestUnwrap(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"value":[1]}`:    `[1]`,
		`{"value":null}`:   `null`,
		` {"value": "a" }`: `"a"`,
		`{"value":[1`:      `{"value":[1`,
		`{"other":1}`:      `{"other":1}`,
		`[1]`:              `[1]`,
		``:                 ``,
	} {
		if got := unwrapAnswer([]byte(arguments)); got != want {
			t.Errorf("%s is unwrapped to %s, want %s", arguments, got, want)
		}
	}
}
