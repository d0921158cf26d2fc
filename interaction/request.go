// Package interaction holds what a turn waits for and how that is answered: the
// Request, its Answer, and the check of the one against the other. Events, states,
// stores and surfaces use these structs or embed them.
package interaction

import "encoding/json"

// Mode is what happens with the answer to a request.
type Mode string

// The modes.
const (
	// ReplayToolCall asks the gates about the call again, with the answer at hand,
	// and executes it when they let it through. It is the default.
	ReplayToolCall Mode = "replay_tool_call"
	// UseDecisionAsToolResult takes the answer for the result of the call.
	UseDecisionAsToolResult Mode = "use_decision_as_tool_result"
	// PassDecisionToTool asks the gates again and hands the answer to the tool.
	PassDecisionToTool Mode = "pass_decision_to_tool"
)

// Request is what a suspended call waits for: a person's answer, or the result of
// something that runs elsewhere.
type Request struct {
	// ID identifies the request within its turn. An answer names it, or the call.
	ID string `json:"id"`
	// CallID is the call that waits; the loop sets it. Tool and Arguments are what is
	// asked about: those of the call, unless the asker set them, such as a delegate that
	// asks about a call of its own. Arguments that are not JSON are a JSON string.
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Action is what is asked for, as in tool:PermissionConfirm.
	Action string `json:"action,omitempty"`
	// Message is what a person is shown.
	Message string `json:"message,omitempty"`
	// Parameters are what a program needs to know to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; empty means any.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Mode is what happens with the answer; empty means ReplayToolCall.
	Mode Mode `json:"resume_mode,omitempty"`
}
