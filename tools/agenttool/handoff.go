package agenttool

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/tools"
)

// HandoffPrefix begins the id of every tool that hands the conversation to
// another agent.
const HandoffPrefix = "hand_off_to_"

// HandOffID returns the id of the tool that hands the conversation to an agent.
// It is made as DelegateID makes one.
func HandOffID(agentID string) string {
	return HandoffPrefix + DelegateID(agentID)[len(DelegatePrefix):]
}

// HandOff is the tool that hands the conversation to another agent.
type HandOff struct {
	// AgentID is the agent that takes over.
	AgentID string
	// Description tells the calling model what the agent is for.
	Description string
}

var _ tools.Tool = (*HandOff)(nil)

var handOffParameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// Descriptor describes the agent to the calling model. Its effect is Idempotent:
// of several requests in a step the first counts.
func (h *HandOff) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: "Hands the whole conversation to another agent, which answers from here on: " + h.Description,
		Parameters:  handOffParameters,
		Effect:      tools.Idempotent,
	}
}

// Call asks for the hand-off, which happens when the step is over.
func (h *HandOff) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	if err := call.Host.HandOff(ctx, h.AgentID); err != nil {
		return tools.Result{}, err
	}
	return tools.TextResult("The conversation goes to agent " + h.AgentID + "."), nil
}
