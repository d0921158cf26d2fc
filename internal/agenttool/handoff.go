package agenttool

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/tools"
)

// HandoffPrefix is the prefix of the id of every tool that hands the conversation to another agent.
const HandoffPrefix = "hand_off_to_"

// HandoffID returns the id of the tool that hands the conversation to an agent. It is derived as in
// DelegateID.
func HandoffID(agentID string) string {
	return HandoffPrefix + DelegateID(agentID)[len(DelegatePrefix):]
}

// Handoff is the tool that hands the conversation to another agent.
type Handoff struct {
	// AgentID is the agent that takes over.
	AgentID string
	// Description describes the agent's purpose for the calling model.
	Description string
}

var _ tools.Tool = (*Handoff)(nil)

var handOffParameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// Descriptor describes the agent to the calling model. Its effect is Idempotent: of several
// requests in a step only the first counts.
func (h *Handoff) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "Hands the whole conversation to another agent, which answers from here on: " + h.Description,
		Parameters:  handOffParameters,
		Effect:      tools.Idempotent,
	}
}

// Call requests the handoff, which happens at the end of the step.
func (h *Handoff) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	if err := call.Host.Handoff(ctx, h.AgentID); err != nil {
		return tools.Result{}, err
	}
	return tools.TextResult("The conversation goes to agent " + h.AgentID + "."), nil
}
