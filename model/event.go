package model

import "time"

// EventType is the kind of an Event.
type EventType uint8

// The types of events in a model's answer.
const (
	// EventText adds Delta to the answer's text.
	EventText EventType = iota + 1
	// EventReasoning adds Delta to the readable reasoning. Name is the vendor's field in which the
	// reasoning is returned; empty if it is not returned.
	EventReasoning
	// EventReasoningEncrypted carries in Delta the vendor's opaque form of the
	// reasoning, whole, and in ID the reasoning item's id, if it has one.
	EventReasoningEncrypted
	// EventToolCallStart begins the tool call with the number Index, with its
	// ID and Name.
	EventToolCallStart
	// EventToolCallDelta adds Delta to the arguments of the call Index.
	EventToolCallDelta
	// EventToolCallEnd marks the arguments of the call Index as complete.
	EventToolCallEnd
	// EventFinish ends the answer, with Reason and Usage.
	EventFinish
	// EventServed names the model that answers from here on, if a pool chose it: ID is the model's
	// id, Name the vendor's name.
	EventServed
	// EventRetry announces that the answer is requested again, with Retry. Earlier output stays
	// valid unless an EventReset or EventToolCallCancel follows.
	EventRetry
	// EventReset discards everything streamed of the answer, including the numbers
	// of its calls; Delta is the reason.
	EventReset
	// EventToolCallCancel discards the call Index, which was interrupted; Delta is
	// the reason. Its number is not reused.
	EventToolCallCancel
	// EventToolCallExtra carries in Delta the vendor's opaque JSON that goes back with
	// the call Index.
	EventToolCallExtra
)

// Event is one piece of a model's answer. Type determines which fields are set. Calls are numbered
// from 0 in the order they start; pieces of different calls may alternate.
type Event struct {
	Type  EventType
	Index int
	ID    string
	Name  string
	Delta string

	Reason FinishReason
	// Usage is nil if the vendor reported none. It is valid until the next event is requested.
	Usage *Usage
	// Retry is set for EventRetry.
	Retry *Retry
}

// Retry is one retry of a model call.
type Retry struct {
	// Attempt counts the retries of the call from 1.
	Attempt int
	// Class is the error class of the preceding attempt.
	Class ErrorClass
	// Plan is how the answer resumes; empty if it had not begun.
	Plan RecoveryPlan
	// Wait is the delay before the retry.
	Wait time.Duration
}

// RecoveryPlan is how an interrupted answer resumes.
type RecoveryPlan string

// The plans, by the output streamed before the interruption.
const (
	// ContinueText continues after the text.
	ContinueText RecoveryPlan = "continue_text"
	// KeepToolCalls treats the complete calls as the whole answer; the model is not called again.
	KeepToolCalls RecoveryPlan = "keep_tool_calls"
	// DropToolCall continues after the text and drops an incomplete call.
	DropToolCall RecoveryPlan = "drop_tool_call"
	// Restart requests the answer again from the beginning.
	Restart RecoveryPlan = "restart"
)
