package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

func TestStopAndServiceTierAreSent(t *testing.T) {
	req := hello()
	req.Params = model.Params{Stop: []string{"END"}, ServiceTier: "standard_only"}
	p, err := offline(t, Config{}, nil).planRequest(req, concessions{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.encodeBody()
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(body, &sent); err != nil || string(sent["stop_sequences"]) != `["END"]` || string(sent["service_tier"]) != `"standard_only"` {
		t.Errorf("%s: %v", body, err)
	}
}

func TestStopIsSentToClouds(t *testing.T) {
	e := offline(t, Config{}, nil)
	e.at.Version = "vertex-2023-10-16"
	req := hello()
	req.Params = model.Params{Stop: []string{"END"}, ServiceTier: "standard_only"}
	p, err := e.planRequest(req, concessions{})
	if err != nil || len(p.params.Stop) != 1 || p.params.ServiceTier != "" {
		t.Errorf("%+v: %v", p, err)
	}
	if faults := e.CheckParams("claude-sonnet-4-5", &req.Params); len(faults) != 1 || faults[0].Name != "service_tier" {
		t.Errorf("faults: %v", faults)
	}
}

// TestSamplingThatClaudeRejectsIsFound checks values out of range, and sampling combined with
// thinking.
func TestSamplingThatClaudeRejectsIsFound(t *testing.T) {
	low, off := &spec.Effort{Level: "low"}, &spec.Effort{Level: "off"}
	for _, tt := range []struct {
		params model.Params
		want   string
	}{
		{model.Params{Temperature: new(1.0), TopP: new(0.5)}, ""},
		{model.Params{Temperature: new(1.5)}, "temperature is 1.5; at most 1 is allowed"},
		{model.Params{Temperature: new(1.5), ReasoningEffort: low}, "temperature is 1.5; at most 1 is allowed"},
		{model.Params{Temperature: new(0.5), ReasoningEffort: off}, ""},
		{model.Params{Temperature: new(0.5), ReasoningEffort: &spec.Effort{Variable: "effort"}}, ""},
		{model.Params{Temperature: new(0.5), ReasoningEffort: low}, "temperature is left out while the model thinks; see reasoning_effort (omitted)"},
		{model.Params{TopP: new(0.95), ReasoningEffort: low}, ""},
		{model.Params{TopP: new(0.9), ReasoningEffort: low}, "top_p is left out below 0.95 while the model thinks; see reasoning_effort (omitted)"},
	} {
		got := ""
		for _, fault := range offline(t, Config{}, nil).CheckParams("claude-sonnet-4-5", &tt.params) {
			got += fault.Name + " " + fault.Reason
			if fault.Omitted {
				got += " (omitted)"
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.params, got, tt.want)
		}
	}
}
