package google

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

func TestSeedAndStopAreSent(t *testing.T) {
	req := &model.Request{Model: "gemini-2.5-flash", Params: model.Params{Seed: new(7), Stop: []string{"END"}}}
	c, err := json.Marshal(generationConfig(req, generationOf(req.Model), form{}, thinkingSupport{}))
	if err != nil || string(c) != `{"seed":7,"stopSequences":["END"]}` {
		t.Errorf("%s: %v", c, err)
	}
}
