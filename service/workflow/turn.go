package workflow

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// stepTurnRequest is a step's request to the service.
type stepTurnRequest struct {
	session service.CreateSession
	turn    service.CreateTurn
	// input is the step's input, for display.
	input json.RawMessage
}

// turnID returns the turn id of an attempt of a step.
func (a *activation) turnID(step string, attempt int) string {
	return stepID("turn", a.run.Owner.Tenant, a.run.ID, step, attempt)
}

// turnOf returns a step's request to the service.
func (a *activation) turnOf(step *workflow.Step, state *StepState, scope *workflow.Scope) (*stepTurnRequest, error) {
	id := a.turnID(step.ID, max(1, state.Attempt))
	metadata, err := json.Marshal(map[string]any{"workflow": map[string]any{
		"id": a.run.WorkflowID, "run": a.run.ID, "step": step.ID, "trigger": a.trigger.Kind,
	}})
	if err != nil {
		return nil, err
	}
	asked := &stepTurnRequest{
		session: service.CreateSession{ID: stepID("session", a.run.Owner.Tenant, a.run.ID, step.ID), Revision: a.run.Revision, Labels: map[string]string{"workflow": a.run.WorkflowID}},
		turn: service.CreateTurn{
			ID: id, Metadata: metadata, Background: true, Revision: a.run.Revision, IdempotencyKey: "workflow/" + id, IdempotencyBody: json.RawMessage(`"` + id + `"`),
		},
	}
	if step.Tool != nil {
		err = a.askTool(asked, step, scope)
	} else {
		err = a.askAgent(asked, step, scope)
	}
	asked.session.IdempotencyKey = "workflow/" + asked.session.ID
	asked.session.IdempotencyBody = json.RawMessage(`"` + asked.session.ID + `"`)
	return asked, err
}

// askTool requests a turn that makes one call.
func (a *activation) askTool(asked *stepTurnRequest, step *workflow.Step, scope *workflow.Scope) error {
	call := step.Tool
	fields, err := scope.EvaluateFields(call.Input)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if asked.input, err = json.Marshal(fields); err != nil {
		return err
	}
	asked.turn.Input = []model.Message{model.User("Call the tool " + call.Name + ".")}
	asked.turn.Ephemeral = &service.Ephemeral{
		Agent: spec.Agent{ID: spec.EphemeralAgent, ModelID: "none", AllowedTools: spec.Names{call.Name}},
		Call: &resolve.SingleCall{
			Tool: call.Name, Arguments: asked.input, Approval: call.Approval, Asking: "Workflow " + a.run.WorkflowID,
			Key: stepID("call", a.run.Owner.Tenant, a.run.ID, step.ID), // of all tries
		},
	}
	return nil
}

// askAgent requests a turn of an agent.
func (a *activation) askAgent(asked *stepTurnRequest, step *workflow.Step, scope *workflow.Scope) error {
	turn := step.Agent
	asked.session.AgentID, asked.turn.AgentID, asked.turn.Addressed = turn.Agent, turn.Agent, true
	messages, err := messagesOf(turn, scope)
	if err != nil {
		return err
	}
	last := len(messages) - 1
	asked.turn.Before, asked.turn.Input = messages[:last:last], messages[last:]
	if asked.input, err = json.Marshal(map[string]any{"messages": textsOf(messages)}); err != nil {
		return err
	}
	asked.turn.Overrides.ModelID = turn.ModelID
	if turn.Tools != nil {
		asked.turn.Overrides.Tools = turn.Tools
	}
	if schema := step.Schema(); schema != nil {
		asked.turn.Overrides.Output = &spec.OutputSchema{Schema: schema}
	}
	if len(turn.SessionKey) == 0 {
		return nil
	}
	key, err := textValue(turn.SessionKey, scope)
	if err != nil {
		return fmt.Errorf("session_key: %w", err)
	}
	asked.session.ID = stepID("key", a.run.Owner.Tenant, a.run.Owner.Subject, a.run.WorkflowID, key)
	return nil
}

// messagesOf returns a turn's input: its messages, followed by its prompt.
func messagesOf(turn *workflow.AgentTurn, scope *workflow.Scope) ([]model.Message, error) {
	var list []model.Message
	for i := range turn.Messages {
		text, err := textValue(turn.Messages[i].Text, scope)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		m := model.User(text)
		if role := turn.Messages[i].Role; role != "" {
			m.Role = model.Role(role)
		}
		list = append(list, m)
	}
	if len(turn.Prompt) > 0 {
		text, err := textValue(turn.Prompt, scope)
		if err != nil {
			return nil, fmt.Errorf("prompt: %w", err)
		}
		list = append(list, model.User(text))
	}
	if len(list) == 0 || list[len(list)-1].Role == model.RoleAssistant {
		return nil, errors.New("the agent is given nothing to answer")
	}
	return list, nil
}

// textValue evaluates a value that must be a string.
func textValue(raw json.RawMessage, scope *workflow.Scope) (string, error) {
	v, err := scope.EvaluateRaw(raw)
	if err != nil {
		return "", err
	}
	return workflow.TextOf(v)
}

// textsOf returns messages in the form shown to readers of a step.
func textsOf(messages []model.Message) []map[string]string {
	list := make([]map[string]string, len(messages))
	for i := range messages {
		list[i] = map[string]string{"role": string(messages[i].Role), "text": messages[i].Text()}
	}
	return list
}
