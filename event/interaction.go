package event

import "encoding/json"

// InteractionRequest says that a tool call waits for something outside.
type InteractionRequest struct {
	// ID identifies the ticket; CallID is the call that waits. An answer may
	// name either.
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Arguments are those of the call.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Action says what is asked for, as in tool:PermissionConfirm.
	Action  string `json:"action,omitempty"`
	Message string `json:"message,omitempty"`
	// Parameters are what a program needs to know to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; empty means any.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Mode says what becomes of an answer: replay_tool_call,
	// use_decision_as_tool_result or pass_decision_to_tool.
	Mode string `json:"resume_mode"`
}

// ToolCallResumed says that a call that waited goes on.
type ToolCallResumed struct {
	TargetID string `json:"target_id"`
	// Action is resume or cancel.
	Action string `json:"action"`
	// Result is what the answer carried.
	Result json.RawMessage `json:"result,omitempty"`
}

// Type returns TypeInteractionRequest.
func (*InteractionRequest) Type() Type { return TypeInteractionRequest }

// Type returns TypeToolCallResumed.
func (*ToolCallResumed) Type() Type { return TypeToolCallResumed }
