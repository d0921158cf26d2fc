package tools

import (
	"context"
	"encoding/json"

	"github.com/agentruntime/agentruntime/interaction"
)

// Wait is what a call waits for: a person's answer, the result of something
// that runs elsewhere. The turn is suspended until there is an answer; a step's
// other calls are not held up.
type Wait struct {
	// Questions are what is asked; at least one. The call goes on with the first
	// answers that come, and asks again for those that it still needs. The id of a
	// question may be empty, which makes it that of the call; its mode is not the
	// tool's to set.
	Questions []interaction.Request
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
	// reports whether that was done.
	ActionAuthorize = "auth:required"
)

// Resumed is how a call goes on that waited.
type Resumed struct {
	// Answers are those that came since the call waited. The target of each is the id
	// that the call gave its question.
	Answers []interaction.Answer `json:"answers"`
	// State is what the call left in Wait.State.
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
