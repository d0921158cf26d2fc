package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

func TestModelsWithFormsAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"claude-sonnet-4-5": true, "claude-sonnet-4-5-20250929": true, "claude-haiku-4-5@20251001": true, "claude-opus-4-6": true,
		"claude-opus-5": true, "claude-opus-5-5": true, "claude-sonnet-10-1": true, "anthropic/claude-opus-4-5": true,
		"claude-opus-4-1-20250805": false, "claude-opus-4-20250514": false, "claude-3-7-sonnet-latest": false, "claude-sonnet-4@20250514": false,
		"my-alias": false, "": false,
	} {
		if hasForms(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestTheFormIsAskedForWhereTheModelHasIt checks when the schema replaces the report: it does not
// affect tools, tool choice or thinking.
func TestTheFormIsAskedForWhereTheModelHasIt(t *testing.T) {
	const form = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	asking := func(name, schema string, change func(*model.Request)) *model.Request {
		req := hello()
		req.Model, req.Tools, req.ReasoningEffort = name, someTools(2), &spec.Effort{Level: "high"}
		req.Output = &spec.OutputSchema{Schema: json.RawMessage(schema)}
		change(req)
		return req
	}
	keep := func(*model.Request) {}
	for _, tt := range []struct {
		name  string
		req   *model.Request
		form  bool
		tools int
	}{
		{"a form", asking(testModel, `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`, keep), true, 2},
		{"without tools", asking(testModel, form, func(r *model.Request) { r.Tools = nil }), true, 0},
		{"an older model", asking(reportModel, form, keep), false, 3},
		{"a schema that is not an object", asking(testModel, `{"type":"array","items":{"type":"string"}}`, keep), false, 3},
		{"an answer to continue", asking(testModel, form, func(r *model.Request) { r.Messages = append(r.Messages, model.Assistant("Well")) }), false, 3},
		{"a call", asking(testModel, form, func(r *model.Request) { r.ToolChoice.Mode = model.ToolsRequired }), false, 2},
	} {
		body := checkBody(t, []byte(vendor.Sent(t, tt.req)))
		got := ""
		if body.OutputConfig != nil && body.OutputConfig.Format != nil {
			got = string(body.OutputConfig.Format.Schema)
		}
		if (got == form) != tt.form || (got != "") != tt.form || len(body.Tools) != tt.tools {
			t.Errorf("%s: the form is %s, with %d tools", tt.name, got, len(body.Tools))
		}
		if tt.form && (body.ToolChoice != nil || body.Thinking == nil) {
			t.Errorf("%s: the choice is %+v, thinking %+v", tt.name, body.ToolChoice, body.Thinking)
		}
	}
}

// TestARefusedFormBecomesTheReport checks that this is remembered.
func TestARefusedFormBecomesTheReport(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden} {
		asked := 0
		e := offline(t, Config{}, func(r *http.Request) (*http.Response, error) {
			asked++
			if body := string(readBody(t, r)); strings.Contains(body, `"format":`) {
				res := refusalResponse(r, "output_config.format: Extra inputs are not permitted")
				res.StatusCode = status
				return res, nil
			}
			return vendortest.StreamResponse(r, streamOf(t, "report")), nil
		})
		req := hello()
		req.Output = &spec.OutputSchema{Schema: json.RawMessage(citySchema)}
		for _, want := range []int{2, 1} {
			asked = 0
			if _, failure := vendortest.Ask(t, e, req); failure != nil || asked != want {
				t.Errorf("asked %d times, then %v; want %d times", asked, failure, want)
			}
		}
	}
}
