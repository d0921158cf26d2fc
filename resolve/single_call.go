package resolve

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/core"
	"github.com/agentruntime/agentruntime/spec"
)

// SingleCall is the only call of a turn.
type SingleCall struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object.
	Arguments json.RawMessage `json:"arguments"`
	// Approval makes the call wait until a person approves it.
	Approval bool `json:"approval,omitempty"`
	// Asking names the caller in the question to the person.
	Asking string `json:"asking,omitempty"`
	// Key begins the call's idempotency key, so that turns that repeat a call share it; empty means
	// the turn's id.
	Key string `json:"key,omitempty"`
}

// onlyGuards returns an agent with only its guards: it calls no model, so prompts, output formats
// and the like do not apply.
func onlyGuards(agent *spec.Agent) *spec.Agent {
	budgets := agent.Budgets
	if budgets != nil {
		own := *budgets
		own.MaxCost, own.Currency = nil, "" // nothing has a price
		budgets = &own
	}
	return &spec.Agent{
		ID: agent.ID, Description: agent.Description, PluginIDs: agent.PluginIDs, Sections: agent.Sections, ActiveHookFilter: agent.ActiveHookFilter,
		AllowedTools: agent.AllowedTools, AllowedToolPatterns: agent.AllowedToolPatterns,
		ExcludedTools: agent.ExcludedTools, ExcludedToolPatterns: agent.ExcludedToolPatterns,
		Budgets: budgets, ToolBudgets: agent.ToolBudgets, MaxRounds: new(2), ModelID: "none",
	}
}

var _ model.NoModel = (*SingleCall)(nil)

// AsksNoModel marks the call as made without a model.
func (*SingleCall) AsksNoModel() {}

// Stream answers the first request with the call, and the second one with its result.
func (c *SingleCall) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, model.AsError(err))
			return
		}
		usage := new(model.Usage)
		if result := core.LastResult(req.Messages); result != nil {
			if text := model.PartsText(result.Content); text == "" || yield(model.Event{Type: model.EventText, Delta: text}, nil) {
				yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: usage}, nil)
			}
			return
		}
		arguments := string(c.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		for _, ev := range []model.Event{
			{Type: model.EventToolCallStart, ID: "call", Name: c.Tool},
			{Type: model.EventToolCallDelta, Delta: arguments},
			{Type: model.EventToolCallEnd},
			{Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: usage},
		} {
			if !yield(ev, nil) {
				return
			}
		}
	}
}
