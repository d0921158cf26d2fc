package tools

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/interaction"
)

// Wait suspends a call until there is an answer, from a person or from something that runs
// elsewhere. The turn is suspended; the step's other calls are not delayed.
type Wait struct {
	// Questions are the interactions; at least one. The call continues with the first answers
	// that arrive, and asks again for missing ones. A question without an id gets the call's; the
	// tool must not set its mode.
	Questions []interaction.Request
	// AnswerIsResult makes the answer to the one question the result of the
	// call. Otherwise the tool is called again, with Call.Resumed set.
	AnswerIsResult bool
	// State is the tool's JSON state to continue from. It may be stored for days and returned in
	// another process.
	State json.RawMessage
}

// The actions of the questions of tools that ask a person.
const (
	// ActionAsk asks for an answer in words, or in the form of the question.
	ActionAsk = "ask:question"
	// ActionAuthorize asks somebody to authorise the agent somewhere. The answer
	// reports whether that was done.
	ActionAuthorize = "auth:required"
)

// Resumed continues a call that waited.
type Resumed struct {
	// Answers are those that came since the call waited. The target of each is the id
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

// CallFrom returns the tool call that a context belongs to, for code below a
// tool that needs its idempotency key or ids; nil outside of a call.
func CallFrom(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}
