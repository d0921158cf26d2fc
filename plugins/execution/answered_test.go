package execution_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/google/go-cmp/cmp"
)

// waits is a gate that lets a call wait until it was answered for an action.
func waits(action string) plugin {
	return func(r *plugins.Registrar) {
		r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
			if _, answer := p.Answered(action); answer != nil {
				return plugins.Decision{}, nil
			}
			return plugins.Decision{Kind: plugins.Suspend, Interaction: &interaction.Request{ID: action, Action: action}}, nil
		}))
	}
}

// TestACallMayWaitForSeveralGates proves that a gate whose question was answered
// is not asked anew because another one has the call wait.
func TestACallMayWaitForSeveralGates(t *testing.T) {
	t.Parallel()
	list := []plugin{waits("a"), waits("b"), waits("c")}
	e := engine(t, list...)
	c := &e.Context
	c.Stats = &plugins.Stats{Steps: 1}
	c.Call = &model.ToolCall{ID: "x", Name: "t"}
	var asked []string
	for range 5 {
		d := e.Gate(t.Context())
		if d.Kind != plugins.Suspend {
			break
		}
		asked = append(asked, d.Interaction.Action)
		// The turn is suspended and goes on elsewhere.
		request := *d.Interaction
		request.CallID = "x"
		from := *c
		e = restored(t, e, list...)
		c = &e.Context
		c.Stats, c.Call, c.Interaction = from.Stats, from.Call, &request
		c.InteractionAnswer = &interaction.Answer{Target: request.ID, Action: interaction.Resume, Result: json.RawMessage("true")}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, asked); diff != "" {
		t.Error(diff)
	}
	for what, change := range map[string]func(){
		"another call": func() { c.Call, c.Interaction, c.InteractionAnswer = &model.ToolCall{ID: "y"}, nil, nil },
		"a call of a step on": func() {
			c.Stats = &plugins.Stats{Steps: 2}
			c.Call, c.Interaction, c.InteractionAnswer = &model.ToolCall{ID: "x"}, nil, nil
		},
	} {
		change()
		if d := e.Gate(t.Context()); d.Kind != plugins.Suspend || d.Interaction.Action != "a" {
			t.Errorf("%s: the decision is %+v", what, d)
		}
	}
}
