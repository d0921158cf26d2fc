package tools

import (
	"context"
	"encoding/json"
)

// Wait says what a call waits for: a person's answer, the result of something
// that runs elsewhere. The turn is suspended until there is an answer; a step's
// other calls are not held up.
type Wait struct {
	// Questions are what is asked; at least one. The call goes on with the first
	// answers that come, and asks again for those that it still needs.
	Questions []Question
	// AnswerIsResult makes the answer to the one question the result of the
	// call. Otherwise the tool is called again, with Call.Resumed set.
	AnswerIsResult bool
	// State is what the tool needs to go on, as JSON. It may be stored for
	// days, and come back in another process.
	State json.RawMessage
}

// The actions of the questions of tools that ask a person.
const (
	// ActionAsk asks for an answer in words, or in the form of the question.
	ActionAsk = "ask:question"
	// ActionAuthorize asks somebody to authorise the agent somewhere. The answer
	// tells whether that was done.
	ActionAuthorize = "auth:required"
)

// Question is one thing that a call waits for.
type Question struct {
	// ID identifies the question within the turn; empty makes it the call's id.
	ID string `json:"id"`
	// Tool and Arguments are what is asked about; empty makes them those of the
	// call. A delegate asks about a call of its own.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Action says what is asked for, as in agent_delegate:suspended.
	Action string `json:"action,omitempty"`
	// Message is what a person is shown.
	Message string `json:"message,omitempty"`
	// Parameters are what a program needs to know to answer.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// ResponseSchema is the JSON Schema of an answer; empty means any.
	ResponseSchema json.RawMessage `json:"response_schema,omitempty"`
}

// Resumed is how a call goes on that waited.
type Resumed struct {
	// Answers are those that came since the call waited.
	Answers []Answer `json:"answers"`
	// State is what the call left in Wait.State.
	State json.RawMessage `json:"state,omitempty"`
}

// Answer is the answer to a question of a call.
type Answer struct {
	// ID is that of the question.
	ID string `json:"id"`
	// Result is what was answered.
	Result json.RawMessage `json:"result,omitempty"`
	// Arguments, when set, are to take the place of the Question's.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Cancelled says that whoever was asked refused, for the Reason.
	Cancelled bool   `json:"cancelled,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

type callKey struct{}

// WithCall returns a context in which CallFrom finds a call. The runtime calls a
// tool with such a context.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallFrom returns the tool call that a context belongs to, for code below a
// tool that needs its idempotency key or ids; nil outside of a call.
func CallFrom(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}
