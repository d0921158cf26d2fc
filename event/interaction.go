package event

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/interaction"
)

// InteractionRequest reports that a tool call waits for something outside. Its mode
// is always set.
type InteractionRequest struct {
	interaction.Request
}

// RunWaiting reports that a turn waits and works on nothing until somebody answers.
// One that goes on has a RunStart with Resumed set, or a ToolCallResumed, next.
type RunWaiting struct {
	// Interactions are the ids of those that have no answer yet.
	Interactions []string `json:"interactions"`
}

// ToolCallResumed reports that a call that waited goes on.
type ToolCallResumed struct {
	TargetID string `json:"target_id"`
	// Action is resume or cancel.
	Action string `json:"action"`
	// Result is what the answer carried.
	Result json.RawMessage `json:"result,omitempty"`
}

// Resumed returns the event of a call that goes on with an answer.
func Resumed(answer *interaction.Answer) *ToolCallResumed {
	return &ToolCallResumed{TargetID: answer.Target, Action: string(answer.Action), Result: answer.Result}
}

// Type returns TypeInteractionRequest.
func (*InteractionRequest) Type() Type { return TypeInteractionRequest }

// Type returns TypeRunWaiting.
func (*RunWaiting) Type() Type { return TypeRunWaiting }

// Type returns TypeToolCallResumed.
func (*ToolCallResumed) Type() Type { return TypeToolCallResumed }
