package event

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/event/interaction"
)

// InteractionRequest reports that a tool call waits for something outside. Its mode
// is always set.
type InteractionRequest struct {
	interaction.Request
}

// RunWaiting reports that a turn pauses until someone answers. When the turn resumes, the next
// event is a RunStart with Resumed set, or a ToolCallResumed.
type RunWaiting struct {
	// Interactions are the ids of the unanswered interactions.
	Interactions []string `json:"interactions"`
}

// ToolCallResumed reports that a waiting call continues.
type ToolCallResumed struct {
	TargetID string `json:"target_id"`
	// Action is resume or cancel.
	Action string `json:"action"`
	// Result is the result from the answer.
	Result json.RawMessage `json:"result,omitempty"`
}

// Resumed returns the event for a call that continues with an answer.
func Resumed(answer *interaction.Answer) *ToolCallResumed {
	return &ToolCallResumed{TargetID: answer.Target, Action: string(answer.Action), Result: answer.Result}
}

// Type returns TypeInteractionRequest.
func (*InteractionRequest) Type() Type { return TypeInteractionRequest }

// Type returns TypeRunWaiting.
func (*RunWaiting) Type() Type { return TypeRunWaiting }

// Type returns TypeToolCallResumed.
func (*ToolCallResumed) Type() Type { return TypeToolCallResumed }
