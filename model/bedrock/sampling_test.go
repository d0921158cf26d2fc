package bedrock

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
)

const claudeModel, novaModel = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0"

func TestSamplingIsSent(t *testing.T) {
	req := vendortest.Hello(novaModel)
	req.Params = model.Params{Temperature: new(0.5), TopP: new(0.9), Stop: []string{"END", "STOP"}, MaxOutputTokens: 7}
	p, err := new(executor).planRequest(req, 0)
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.encodeBody()
	if err != nil {
		t.Fatal(err)
	}
	var sent struct{ InferenceConfig json.RawMessage }
	want := `{"maxTokens":7,"temperature":0.5,"topP":0.9,"stopSequences":["END","STOP"]}`
	if err := json.Unmarshal(body, &sent); err != nil || string(sent.InferenceConfig) != want {
		t.Errorf("%s, want %s: %v", body, want, err)
	}
}

func TestParametersThatBedrockRejectsAreFound(t *testing.T) {
	params := &model.Params{Temperature: new(1.5), Seed: new(1), Stop: []string{"END"}}
	if faults := new(executor).CheckParams(novaModel, params); len(faults) != 2 || faults[0].Name != "seed" || faults[1].Name != "temperature" || faults[1].Omitted {
		t.Errorf("faults: %v", faults)
	}
	params = &model.Params{Temperature: new(0.5), ReasoningEffort: &spec.Effort{Level: "low"}}
	if faults := new(executor).CheckParams(claudeModel, params); len(faults) != 1 || !faults[0].Omitted {
		t.Errorf("faults: %v", faults)
	}
	if faults := new(executor).CheckParams(novaModel, params); len(faults) != 0 {
		t.Errorf("faults: %v", faults)
	}
}
