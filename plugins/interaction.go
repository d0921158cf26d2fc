package plugins

import "encoding/json"

// ResumeMode says what becomes of the answer to a ticket.
type ResumeMode string

// The resume modes.
const (
	// ReplayToolCall asks the gates about the call again, with the answer in
	// PhaseContext.Resolution, and executes it when they let it through. It is
	// the default.
	ReplayToolCall ResumeMode = "replay_tool_call"
	// UseDecisionAsToolResult takes the answer for the result of the call.
	UseDecisionAsToolResult ResumeMode = "use_decision_as_tool_result"
	// PassDecisionToTool asks the gates again and hands the answer to the tool.
	PassDecisionToTool ResumeMode = "pass_decision_to_tool"
)

// Ticket describes what a suspended call waits for.
type Ticket struct {
	// ID identifies the ticket within the turn.
	ID string `json:"id"`
	// CallID, Tool and Arguments are those of the call; the loop sets them.
	// Arguments that are no JSON are a JSON string.
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Action says what is asked for, as in tool:PermissionConfirm.
	Action string `json:"action,omitempty"`
	// Message is what a person is shown.
	Message string `json:"message,omitempty"`
	// Parameters are what a program needs to know to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; empty means any.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Mode says what becomes of the answer; empty means ReplayToolCall.
	Mode ResumeMode `json:"resume_mode,omitempty"`
	// Question is the id that the tool gave to what it asks, for tools that wait
	// themselves.
	Question string `json:"question,omitempty"`
}

// ResolutionAction says whether a call that waited goes on.
type ResolutionAction string

// The actions of a resolution.
const (
	// ActionResume lets the call go on with the answer.
	ActionResume ResolutionAction = "resume"
	// ActionCancel refuses it; the model reads that it was refused, and why.
	ActionCancel ResolutionAction = "cancel"
)

// Resolution is the answer to a ticket.
type Resolution struct {
	// Target is the id of the ticket, or that of the call that waits.
	Target string `json:"target"`
	// ID identifies the answer, so that it can be given twice; it may be empty.
	ID     string           `json:"id,omitempty"`
	Action ResolutionAction `json:"action"`
	// Result is what was answered; it satisfies the ticket's response schema.
	Result json.RawMessage `json:"result,omitempty"`
	// Arguments, when set, take the place of those of the call, which is then
	// judged and checked with them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Reason says why, for the model.
	Reason string `json:"reason,omitempty"`
}
