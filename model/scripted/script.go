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
	// Fallback is the answer if no reply matches or all are used; nil means the echo. It must not
	// have a Match.
	Fallback *Reply
}

// Reply is one answer of a scripted model.
type Reply struct {
	// Match restricts the reply to requests whose last user or tool message contains this text, or
	// matches it if written as /regex/. Empty matches every request.
	Match string

	// Reasoning is readable reasoning before the text.
	Reasoning string
	Text      string
	// ToolCalls are the calls that the reply requests. A call without an id gets call_<n>, counted
	// through the script from 1. Arguments are sent unchanged, malformed or not; none means {}.
	ToolCalls []model.ToolCall

	// Chunks is the number of deltas for the reasoning, the text and the arguments of each call, at
	// most one per character; 0 means 1.
	Chunks int
	// Delay is the wait before the first byte, and ChunkDelay the wait between deltas.
	Delay, ChunkDelay time.Duration

	// FinishReason defaults to tool_calls when there are calls, else stop. An answer cut off by
	// the output limit has the reason max_tokens, with a partial text or a call with incomplete
	// JSON arguments; the next reply continues it.
	FinishReason model.FinishReason
	// Usage is the reported usage; nil means an estimate of one token per four bytes.
	Usage *model.Usage

	// Error makes the reply a failure.
	Error *Failure
}

// Failure describes how a reply fails: with an error, or by going silent.
type Failure struct {
	// Class is the class of the error. It is required, except for a stall.
	Class model.ErrorClass
	// Stall makes the reply stay silent instead of failing, until the call's context ends.
	Stall bool
	// Message is the error's message; there is a default.
	Message string
	// Status is the simulated HTTP status of the error.
	Status int
	// RetryAfter is the wait that the error requests.
	RetryAfter time.Duration
	// Times is how often the reply fails before the next one is used; 0 means once. A fallback
	// always fails.
	Times int
	// AfterChunks is the number of deltas streamed before the error: reasoning first, then text,
	// then the arguments of each call, so an error may leave a call incomplete. If the reply does
	// not set Chunks, its parts are split into this many.
	AfterChunks int
}
