package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
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
