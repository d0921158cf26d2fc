package event

// StreamReset retracts the answer shown since the step began, or since the latest
// inference_complete: the answer is requested again from the beginning.
type StreamReset struct {
	Reason string `json:"reason"`
}

// ToolCallCancel retracts a call whose arguments broke off.
type ToolCallCancel struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// ModelRetry reports that a model call is repeated.
type ModelRetry struct {
	// Attempt counts the repetitions of the call from 1.
	Attempt int `json:"attempt"`
	// Class is the error class of the preceding attempt.
	Class string `json:"class"`
	// Plan is the way to continue a partial answer: continue_text, keep_tool_calls, drop_tool_call
	// or restart.
	Plan string `json:"plan,omitempty"`
	// WaitMS is the delay before the retry, in milliseconds.
	WaitMS int64 `json:"wait_ms,omitempty"`
}

// Type returns TypeStreamReset.
func (*StreamReset) Type() Type { return TypeStreamReset }

// Type returns TypeToolCallCancel.
func (*ToolCallCancel) Type() Type { return TypeToolCallCancel }

// Type returns TypeModelRetry.
func (*ModelRetry) Type() Type { return TypeModelRetry }
