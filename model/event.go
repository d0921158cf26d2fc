package model

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
}
