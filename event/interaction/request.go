// Package interaction defines the requests that a turn waits for, their answers, and the
// validation of answers. Events, states, stores and surfaces use or embed these structs.
package interaction

import (
	"encoding/json"
	"strings"
)

// Mode determines how the answer to a request is used.
type Mode string

// The modes.
const (
	// ReplayToolCall asks the gates about the call again, with the answer available, and executes
	// it if they allow it. It is the default.
	ReplayToolCall Mode = "replay_tool_call"
	// UseDecisionAsToolResult uses the answer as the result of the call.
	UseDecisionAsToolResult Mode = "use_decision_as_tool_result"
	// PassDecisionToTool asks the gates again and passes the answer to the tool.
	PassDecisionToTool Mode = "pass_decision_to_tool"
)

// Request is the request of a suspended call: for a person's answer, or for the result of
// external work.
type Request struct {
	// ID identifies the request within its turn. An answer names it, or the call.
	ID string `json:"id"`
	// CallID is the waiting call; the loop sets it. Tool and Arguments are the call's unless the
	// requester sets others, such as a delegate for one of its own calls. Arguments that are not
	// JSON are encoded as a JSON string.
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Action names the requested action, such as tool:PermissionConfirm.
	Action string `json:"action,omitempty"`
	// Message is the text for a person. It begins with Title, if any, on a line by itself.
	Message string `json:"message,omitempty"`
	Title   string `json:"title,omitempty"`
	// Kind is the kind of the question in the requester's protocol, such as input; if empty, it
	// follows from Action.
	Kind string `json:"kind,omitempty"`
	// Parameters are the details that a program needs to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; empty means any.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
	// Mode determines how the answer is used; empty means ReplayToolCall.
	Mode Mode `json:"resume_mode,omitempty"`
}

// KindInput is the kind of a question for data, not for a choice or clarification.
const KindInput = "input"

// Prompt returns the message without the title.
func (r *Request) Prompt() string {
	if rest, ok := strings.CutPrefix(r.Message, r.Title); ok && r.Title != "" {
		return strings.TrimPrefix(rest, "\n")
	}
	return r.Message
}
