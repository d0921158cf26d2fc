package sessions

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/service"
)

// TestAResolutionIsAnObject has what interactions were answered with.
func TestAResolutionIsAnObject(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"action":"resume","result":"the red one"}`:     `{"response":"the red one"}`,
		`{"action":"resume","result":7}`:                 `{"response":7}`,
		`{"action":"resume","result":{"approved":true}}`: `{"approved":true}`,
		`{"action":"cancel","reason":"too expensive"}`:   `{"canceled":true,"reason":"too expensive"}`,
	} {
		var i service.Interaction
		i.State, i.Answer = service.InteractionAnswered, json.RawMessage(answer)
		if got := resolutionOf(&i); string(got) != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
}
