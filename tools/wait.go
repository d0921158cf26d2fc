package tools

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/event/interaction"
)

// Wait suspends a call until a person or an external process answers. The turn is suspended; the
// step's other calls are not delayed.
type Wait struct {
	// Questions are the interactions; at least one. The call continues with the first answers that
	// arrive, and repeats the unanswered questions. A question without an id gets the call's; the
	// tool must not set its mode.
	Questions []interaction.Request
	// AnswerIsResult makes the answer to the one question the result of the
	// call. Otherwise the tool is called again, with Call.Resumed set.
	AnswerIsResult bool
	// State is the tool's JSON state to continue from. It may be stored for days and returned in
	// another process.
	State json.RawMessage
}

// The actions of the questions that tools ask a person.
const (
	// ActionAsk requests an answer in words, or in the form of the question.
	ActionAsk = "ask:question"
	// ActionAuthorize asks a person to authorize the agent at a service. The answer reports whether
	// that was done.
	ActionAuthorize = "auth:required"
)

// Resumed continues a call that was waiting.
type Resumed struct {
	// Answers are the answers received since the call began to wait. The target of each is the id
	// that the call gave its question.
	Answers []interaction.Answer `json:"answers"`
	// State is the call's Wait.State.
	State json.RawMessage `json:"state,omitempty"`
}

type callKey struct{}

// WithCall returns a context in which CallFrom finds a call. The runtime calls a
// tool with such a context.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallFrom returns the tool call of a context, for code below a tool that needs its idempotency key
// or ids; nil outside of a call.
func CallFrom(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}
