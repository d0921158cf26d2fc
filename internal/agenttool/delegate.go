// Package agenttool holds the tools that lead to other agents: a delegate calls an agent, and a
// handoff lets an agent take over the conversation.
package agenttool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/tools"
)

// DelegatePrefix is the prefix of the id of every tool that calls another agent.
const DelegatePrefix = "agent_run_"

// DelegateID returns the id of the tool that calls an agent. Every byte of the agent's id that is
// invalid in a tool id becomes '_'.
func DelegateID(agentID string) string {
	id := []byte(agentID)
	for i, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			id[i] = '_'
		}
	}
	return DelegatePrefix + string(id)
}

// Delegate is the tool that calls another agent.
type Delegate struct {
	// AgentID is the agent to call.
	AgentID string
	// Description describes the agent's purpose for the calling model.
	Description string
}

var _ tools.Tool = (*Delegate)(nil)

var delegateParameters = json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","minLength":1,"description":"What the agent is to do, with all it needs to know: it sees nothing else."}},"required":["prompt"],"additionalProperties":false}`)

// Descriptor describes the delegate to the calling model. Its effect is Once, whatever tools the
// agent has: a turn that runs again may decide otherwise, and its calls would have other keys, so
// not even an idempotent tool could recognize repetitions. A waiting delegate continues rather than
// repeats.
func (d *Delegate) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: d.Description,
		Parameters:  delegateParameters,
		Effect:      tools.Once,
		Timeout:     tools.NoTimeout,
	}
}

// Call runs a turn of the agent with the prompt as its only message. A turn
// that does not succeed, or that a limit stopped before its answer, becomes an error
// result for the caller's model.
func (d *Delegate) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var args struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tools.Result{}, fmt.Errorf("decode arguments: %w", err)
	}
	if strings.TrimSpace(args.Prompt) == "" {
		return tools.ErrorResult("tool_input_invalid: prompt is blank"), nil
	}
	res, err := call.Host.Delegate(ctx, tools.DelegateRequest{AgentID: d.AgentID, Prompt: args.Prompt, CallID: call.ID, Resumed: call.Resumed})
	if err != nil {
		return tools.Result{}, err
	}
	if len(res.Questions) > 0 {
		return tools.Result{Wait: &tools.Wait{Questions: res.Questions, State: res.State}}, nil
	}
	if res.Status != event.StatusSucceeded {
		return tools.ErrorResult(fmt.Sprintf("agent %s did not finish: %s", d.AgentID, describeTermination(res.Termination))), nil
	}
	if res.Termination.CutShort() {
		return tools.ErrorResult(strings.TrimSpace(fmt.Sprintf("agent %s was stopped before it gave its answer: %s\n%s", d.AgentID, describeTermination(res.Termination), res.Response))), nil
	}
	if res.Response == "" {
		return tools.TextResult(fmt.Sprintf("agent %s finished without an answer", d.AgentID)), nil
	}
	return tools.TextResult(res.Response), nil
}

func describeTermination(t event.Termination) string {
	text := string(t.Type)
	if t.Code != "" {
		text += " " + t.Code
	}
	if t.Detail != "" {
		text += ": " + t.Detail
	}
	return text
}
