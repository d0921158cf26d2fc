package scripted

import (
	"time"

	"github.com/agentruntime/agentruntime/model"
)

// Script defines the answers of a scripted model. The zero Script echoes the last user message of
// every request.
type Script struct {
	// Replies are used in order, once per run: a request gets the first unused reply that
	// matches.
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

	// FinishReason defaults to tool_calls when there are calls, else stop. An answer cut off by
	// the output limit has the reason max_tokens, with a partial text or a call with incomplete
	// JSON arguments; the next reply continues it.
	FinishReason model.FinishReason
	// Usage is the reported usage; nil means an estimate of a token per four bytes.
	Usage *model.Usage

	// Error makes the reply a failure.
	Error *Failure
}

// Failure is how a reply fails: with an error, or by falling silent.
type Failure struct {
	// Class is the class of the error. It is required, except for a stall.
	Class model.ErrorClass
	// Stall makes the reply stay silent instead of failing, until the call's context ends.
	Stall bool
	// Message is the error's message; there is a default.
	Message string
	// Status is the HTTP status that the error pretends to come from.
	Status int
	// RetryAfter is how long the error asks to wait.
	RetryAfter time.Duration
	// Times is how often the reply fails before the next one is used; 0 means
	// once. A fallback fails always.
	Times int
	// AfterChunks is the number of deltas streamed before the error: reasoning first, then text,
	// then the arguments of each call, so an error may leave a call incomplete. If the reply does
	// not set Chunks, its parts are split into this many.
	AfterChunks int
}
