package model

import "time"

// EventType says what an Event of a model's answer carries.
type EventType uint8

// The types of events in a model's answer.
const (
	// EventText adds Delta to the answer's text.
	EventText EventType = iota + 1
	// EventReasoning adds Delta to the readable reasoning.
	EventReasoning
	// EventReasoningEncrypted carries in Delta the vendor's opaque form of the
	// reasoning, whole, and in ID the reasoning item's id, if it has one.
	EventReasoningEncrypted
	// EventToolCallStart begins the tool call with the number Index, with its
	// ID and Name.
	EventToolCallStart
	// EventToolCallDelta adds Delta to the arguments of the call Index.
	EventToolCallDelta
	// EventToolCallEnd says that the arguments of the call Index are complete.
	EventToolCallEnd
	// EventFinish ends the answer, with Reason and Usage.
	EventFinish
	// EventServed names the model that answers from here on, when a pool chose
	// it: ID is the model's id, Name the vendor's name.
	EventServed
	// EventRetry says that the answer is about to be asked for again, with
	// Retry. What was streamed stands unless an EventReset or
	// EventToolCallCancel follows.
	EventRetry
	// EventReset takes back everything that was streamed of the answer, the
	// numbers of its calls included; Delta says why.
	EventReset
	// EventToolCallCancel takes back the call Index, which broke off; Delta says
	// why. Its number is not used again.
	EventToolCallCancel
)

// Event is one piece of a model's answer. Type says which fields count. Calls
// are numbered from 0 in the order in which they start; the pieces of several
// calls may alternate.
type Event struct {
	Type  EventType
	Index int
	ID    string
	Name  string
	Delta string

	Reason FinishReason
	// Usage is nil when the vendor reported none. It is valid until the next
	// event is asked for.
	Usage *Usage
	// Retry is set for EventRetry.
	Retry *Retry
}

// Retry is one repetition of a model call.
type Retry struct {
	// Attempt counts the repetitions of the call from 1.
	Attempt int
	// Class is what the attempt before failed with.
	Class ErrorClass
	// Plan says how the answer is taken up again; empty when it had not begun.
	Plan RecoveryPlan
	// Wait is how long the repetition is put off.
	Wait time.Duration
}

// RecoveryPlan says how an answer goes on that broke off.
type RecoveryPlan string

// The plans, by what had been streamed when the answer broke off.
const (
	// ContinueText goes on behind a text.
	ContinueText RecoveryPlan = "continue_text"
	// KeepToolCalls takes the complete calls for the whole answer; the model is
	// not asked again.
	KeepToolCalls RecoveryPlan = "keep_tool_calls"
	// DropToolCall goes on behind the text ahead of an incomplete call.
	DropToolCall RecoveryPlan = "drop_tool_call"
	// Restart asks again from the beginning.
	Restart RecoveryPlan = "restart"
)
