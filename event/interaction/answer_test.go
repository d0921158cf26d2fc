package interaction_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
)

func TestCheckSaysWhyAnAnswerDoesNotFit(t *testing.T) {
	approved := json.RawMessage(`{"type":"object","required":["approved"]}`)
	for name, tt := range map[string]struct {
		schema  json.RawMessage
		answer  interaction.Answer
		problem string
	}{
		"anything":        {nil, interaction.Answer{Action: interaction.Resume, Result: json.RawMessage(`7`)}, ""},
		"nothing":         {nil, interaction.Answer{Action: interaction.Resume}, ""},
		"a refusal":       {approved, interaction.Answer{Action: interaction.Cancel}, ""},
		"the form":        {approved, interaction.Answer{Action: interaction.Resume, Result: json.RawMessage(`{"approved":true}`)}, ""},
		"no action":       {nil, interaction.Answer{}, "allowed are"},
		"no result":       {approved, interaction.Answer{Action: interaction.Resume}, "object"},
		"another form":    {approved, interaction.Answer{Action: interaction.Resume, Result: json.RawMessage(`{}`)}, "approved"},
		"no JSON":         {nil, interaction.Answer{Action: interaction.Resume, Result: json.RawMessage(`{`)}, "not JSON"},
		"arguments":       {nil, interaction.Answer{Action: interaction.Resume, Arguments: json.RawMessage(`null`)}, "not a JSON object"},
		"a broken schema": {json.RawMessage(`7`), interaction.Answer{Action: interaction.Resume}, "response schema of the request is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			err := interaction.Check(t.Context(), &interaction.Request{ID: "r", ResponseSchema: tt.schema}, &tt.answer)
			if tt.problem == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wrong, ok := errors.AsType[*interaction.AnswerError](err)
			if !ok || wrong.Target != "r" || !strings.Contains(wrong.Problem, tt.problem) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSameAnswersSayTheSame(t *testing.T) {
	a := interaction.Answer{ID: "1", Action: interaction.Resume, Result: json.RawMessage(`{"a": 1}`)}
	b := interaction.Answer{ID: "2", Action: interaction.Resume, Result: json.RawMessage(`{"a":1}`)}
	if !a.Same(&b) {
		t.Error("blanks and ids make a difference")
	}
	b.Arguments = json.RawMessage(`{}`)
	if a.Same(&b) {
		t.Error("arguments make none")
	}
}
