package execution

import (
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
)

// turn is the hooks' view of the engine.
type turn struct{ engine *Engine }

var _ plugins.Turn = turn{}

// Schedule stages an action.
func (t turn) Schedule(action string, payload any) {
	t.engine.staged.actions = append(t.engine.staged.actions, pendingAction{Action: Action{Key: action, Payload: payload}})
}

// Effect stages an effect.
func (t turn) Effect(key string, payload any) {
	t.engine.staged.effects = append(t.engine.staged.effects, Action{Key: key, Payload: payload})
}

// Stop stages the end of the turn.
func (t turn) Stop(end event.Termination) {
	if t.engine.staged.stop == nil {
		t.engine.staged.stop = &end
	}
}

// Handoff stages a handoff.
func (t turn) Handoff(agentID string) {
	if t.engine.staged.handOff == "" {
		t.engine.staged.handOff = agentID
	}
}

// Emit emits an event.
func (t turn) Emit(data event.Data) {
	if t.engine.Emit != nil && data != nil {
		t.engine.Emit(data)
	}
}

// AddUsage counts a plugin's model call.
func (t turn) AddUsage(usage model.Usage, modelID string) {
	if t.engine.Context.Stats != nil {
		t.engine.Context.Stats.Usage.Add(usage)
	}
	if t.engine.Spend != nil {
		t.engine.Spend(usage, modelID)
	}
}

// Request returns the plan of the next request.
func (t turn) Request() *plugins.RequestPlan {
	if t.engine.request == nil {
		t.engine.request = new(plugins.RequestPlan)
	}
	return t.engine.request
}

// Answered returns the latest answer to an interaction with an action.
func (t turn) Answered(action string) (*interaction.Request, *interaction.Answer) {
	p := &t.engine.Context
	if p.Interaction != nil && p.InteractionAnswer != nil && p.Interaction.Action == action {
		return p.Interaction, p.InteractionAnswer
	}
	if p.Call == nil {
		return nil, nil
	}
	for i := len(t.engine.answers) - 1; i >= 0; i-- {
		a := &t.engine.answers[i]
		if a.Step == t.engine.currentStep() && a.Interaction.CallID == p.Call.ID && a.Interaction.Action == action {
			return &a.Interaction, &a.Answer
		}
	}
	return nil, nil
}

// Value returns the key's value: the one written in this phase, else the committed one.
func (t turn) Value(key plugins.StateKey) any {
	// Looking up an empty map would check whether the key is hashable, which takes longer than
	// finding it.
	if len(t.engine.staged.state) > 0 {
		if v, ok := t.engine.staged.state[key]; ok {
			return v.value
		}
	}
	if len(t.engine.state) == 0 {
		return nil
	}
	return t.engine.state[key].value
}

// SetValue stages the value of a declared key.
func (t turn) SetValue(key plugins.StateKey, value any) {
	if !t.engine.env.hasKey(key) {
		t.engine.staged.setError(&UnknownKeyError{Key: key.ID()})
		return
	}
	if t.engine.staged.state == nil {
		t.engine.staged.state = make(map[plugins.StateKey]entry, 4)
	}
	t.engine.staged.state[key] = entry{value: value}
}
