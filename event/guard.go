package event

// LoopDetected reports that the model repeatedly requested the same tool calls, and that they
// were not executed.
type LoopDetected struct {
	// Count is the number of consecutive identical batches.
	Count int `json:"consecutive_count"`
	// HardCutoff is set if the model must now give a final answer without tools.
	HardCutoff bool `json:"hard_cutoff"`
	// Tools are the distinct names of the tools in the batch.
	Tools []string `json:"tools"`
}

// ToolBudgetExceeded reports that a call was not executed because the tool's budget is exhausted.
type ToolBudgetExceeded struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// MaxCalls is the budget; Call counts the attempts from 1.
	MaxCalls int `json:"max_calls"`
	Call     int `json:"call_index"`
}

// ToolCallsOmitted reports that an answer requested more calls than allowed. The excess calls have
// no other events and are not part of the conversation; the model is informed of them.
type ToolCallsOmitted struct {
	// Omitted is the number of omitted calls.
	Omitted int `json:"omitted"`
	// MaxCalls is the maximum number of calls per answer.
	MaxCalls int `json:"max_calls"`
	// Message is the text shown to the model.
	Message string `json:"message"`
}

// Handoff reports that another agent takes over the conversation.
type Handoff struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Count is the number of handoffs so far in this turn.
	Count int `json:"count"`
}

// Type returns TypeLoopDetected.
func (*LoopDetected) Type() Type { return TypeLoopDetected }

// Type returns TypeToolBudgetExceeded.
func (*ToolBudgetExceeded) Type() Type { return TypeToolBudgetExceeded }

// Type returns TypeToolCallsOmitted.
func (*ToolCallsOmitted) Type() Type { return TypeToolCallsOmitted }

// Type returns TypeHandoff.
func (*Handoff) Type() Type { return TypeHandoff }
