package scripted

import (
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// Script is what a scripted model answers. The zero Script answers every
// request with the echo of its last user message.
type Script struct {
	// Replies are used in order, each once in a run: a request gets the first
	// unused one that fits.
	Replies []Reply
	// Fallback is the answer when no reply fits or all are used; nil means the
	// echo. It may not have a Match.
	Fallback *Reply
}

// Reply is one answer of a scripted model.
type Reply struct {
	// Match restricts the reply to requests whose last user or tool message
	// contains this text, or matches it when it is written as /regex/. Empty
	// fits every request.
	Match string

	// Reasoning is readable reasoning before the text.
	Reasoning string
	Text      string
	// ToolCalls are the calls that the reply asks for. A call without an id
	// gets call_<n>, counted through the script from 1. Arguments are sent as
	// they are, malformed or not; none means {}.
	ToolCalls []model.ToolCall

	// Chunks is how many deltas the reasoning, the text and the arguments of
	// each call are streamed in, as far as they have so many characters; 0
	// means 1.
	Chunks int
	// Delay is the wait before the first byte, ChunkDelay that between deltas.
	Delay, ChunkDelay time.Duration

	// FinishReason defaults to tool_calls when there are calls, else stop. An
	// answer that the output limit cuts off has the reason max_tokens, with a
	// part of a text, or a call whose arguments are no whole JSON: the next
	// reply goes on with it.
	FinishReason model.FinishReason
	// Usage is what the reply reports; nil means an estimate of a token for
	// every four bytes.
	Usage *model.Usage

	// Error makes the reply a failure.
	Error *Failure
}

// Failure is how a reply fails: with an error, or by falling silent.
type Failure struct {
	// Class is the class of the error. It is required, but for a stall.
	Class model.ErrorClass
	// Stall makes the reply fall silent in place of an error, until the call's
	// context ends.
	Stall bool
	// Message is what the error says; there is a default.
	Message string
	// Status is the HTTP status that the error pretends to come from.
	Status int
	// RetryAfter is how long the error asks to wait.
	RetryAfter time.Duration
	// Times is how often the reply fails before the next one is used; 0 means
	// once. A fallback fails always.
	Times int
	// AfterChunks is how many deltas of the reply are streamed before the error:
	// those of the reasoning, then of the text, then of the arguments of each call,
	// so an error may leave a call incomplete. If the reply does not set Chunks,
	// its parts are streamed in this many.
	AfterChunks int
}
