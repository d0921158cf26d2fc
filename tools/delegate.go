package tools

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// DelegateRequest requests a turn of another agent.
type DelegateRequest struct {
	AgentID string
	Prompt  string
	// CallID is the requesting tool call, and Number counts the agents that the call has run, from
	// 1. The runtime sets both.
	CallID string
	Number int
	// Events receives the events of the turn, if they are recorded. The runtime sets it.
	Events event.Sink
	// Resumed continues a turn that was waiting, or was running when the process died. Its State
	// comes from DelegateResult or Keep.
	Resumed *Resumed
	// Keep stores the state from which the turn continues if the process dies before the turn
	// ends. The runtime sets it, and calls it for turns that run elsewhere; nil if nothing is
	// stored.
	Keep func(ctx context.Context, state json.RawMessage) error
}

// DelegateResult is the result of a delegate's turn.
type DelegateResult struct {
	// Outcome is the outcome of the turn. For a continued turn, usage and cost count from when it
	// was resumed.
	event.Outcome
	TurnID string
	Status event.Status
	// Questions are the open interactions of a waiting turn, and State is where it continues.
	Questions []interaction.Request
	State     json.RawMessage
}
