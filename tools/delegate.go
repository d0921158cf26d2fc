package tools

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
)

// DelegateRequest asks for a turn of another agent.
type DelegateRequest struct {
	AgentID string
	Prompt  string
	// CallID is the tool call that asks, and Number counts the agents that the call has
	// run, from 1. The runtime sets both.
	CallID string
	Number int
	// Events receives the events of the turn, if they are recorded. The runtime sets it.
	Events event.Sink
	// Resumed continues a turn that waited, or was under way when the process
	// died; its State is the one that DelegateResult carried, or Keep was given.
	Resumed *Resumed
	// Keep keeps what the turn needs to go on when the process dies before it has
	// ended. The runtime sets it, and calls it for turns that run elsewhere; nil
	// when nothing is kept.
	Keep func(ctx context.Context, state json.RawMessage) error
}

// DelegateResult is what a delegate's turn came to.
type DelegateResult struct {
	// Outcome is what the turn came to. Of one that went on, the usage and the cost
	// are those since then.
	event.Outcome
	TurnID string
	Status event.Status
	// Questions are what a turn waits for that did not end, and State is what it
	// goes on from.
	Questions []interaction.Request
	State     json.RawMessage
}
