package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Answer is a model's answer put together from its events. The zero value is
// ready to use.
type Answer struct {
	Reason FinishReason
	// Usage counts the tokens of the answer; zero when the vendor reported
	// none.
	Usage Usage
	// Finished is set once the answer ended as it should.
	Finished bool

	number    int
	text      []byte
	reasoning []byte
	encrypted string
	itemID    string
	calls     []partialCall
}

type partialCall struct {
	id, name string
	args     []byte
	done     bool
}

// Add takes in the next event. It returns an *Error of class Provider for an
// event that breaks the order: a piece of a call that never started or is
// complete, a call started out of order, or anything behind the finish.
func (a *Answer) Add(ev *Event) error {
	if a.Finished {
		return protocolError("an event follows the end of the answer")
	}
	switch ev.Type {
	case EventText:
		a.text = append(a.text, ev.Delta...)
	case EventReasoning:
		a.reasoning = append(a.reasoning, ev.Delta...)
	case EventReasoningEncrypted:
		a.encrypted, a.itemID = ev.Delta, ev.ID
	case EventToolCallStart:
		if ev.Index != len(a.calls) {
			return protocolError(fmt.Sprintf("tool call %d starts as number %d", ev.Index, len(a.calls)))
		}
		a.calls = append(a.calls, partialCall{id: a.callID(ev.ID), name: ev.Name})
	case EventToolCallDelta, EventToolCallEnd:
		if ev.Index < 0 || ev.Index >= len(a.calls) {
			return protocolError(fmt.Sprintf("tool call %d never started", ev.Index))
		}
		call := &a.calls[ev.Index]
		if call.done {
			return protocolError(fmt.Sprintf("tool call %d goes on after its end", ev.Index))
		}
		call.args = append(call.args, ev.Delta...)
		call.done = ev.Type == EventToolCallEnd
	case EventFinish:
		a.Reason, a.Finished = ev.Reason, true
		if ev.Usage != nil {
			a.Usage = *ev.Usage
		}
	default:
		return protocolError(fmt.Sprintf("an event has the unknown type %d", ev.Type))
	}
	return nil
}

// callID returns the id of a call that starts: what the model gave, unless that
// is missing, or taken by another call of the answer.
func (a *Answer) callID(id string) string {
	for n := len(a.calls); id == "" || a.taken(id); n++ {
		id = fmt.Sprintf("call_%d_%d", a.number, n)
	}
	return id
}

func (a *Answer) taken(id string) bool {
	return slices.ContainsFunc(a.calls, func(c partialCall) bool { return c.id == id })
}

// Reset makes the answer empty again, keeping its memory. The number tells the
// answers of a turn apart: it becomes part of the ids that are made for calls
// to which the model gave none.
func (a *Answer) Reset(number int) {
	*a = Answer{number: number, text: a.text[:0], reasoning: a.reasoning[:0], calls: a.calls[:0]}
}

func protocolError(text string) error {
	return &Error{Class: Provider, Message: "the stream is malformed: " + text}
}

// Call returns the id and name of the call with the number index.
func (a *Answer) Call(index int) (id, name string) {
	if index < 0 || index >= len(a.calls) {
		return "", ""
	}
	return a.calls[index].id, a.calls[index].name
}

// Text returns the text so far.
func (a *Answer) Text() string { return string(a.text) }

// Message returns the answer as a message: reasoning, text, then the calls. A
// call without arguments, or with the JSON null, has the arguments {}.
func (a *Answer) Message() Message {
	parts := make([]Part, 0, 2+len(a.calls))
	if len(a.reasoning) > 0 || a.encrypted != "" {
		parts = append(parts, Part{Type: PartReasoning, Reasoning: &Reasoning{
			Text: string(a.reasoning), Encrypted: a.encrypted, ID: a.itemID,
		}})
	}
	if len(a.text) > 0 {
		parts = append(parts, Text(string(a.text)))
	}
	if len(a.calls) > 0 {
		calls := make([]ToolCall, len(a.calls))
		for i := range a.calls {
			c := &a.calls[i]
			calls[i] = ToolCall{ID: c.id, Name: c.name, Arguments: normalArguments(c.args)}
			parts = append(parts, Part{Type: PartToolCall, ToolCall: &calls[i]})
		}
	}
	return Message{Role: RoleAssistant, Parts: parts}
}

var noArguments = json.RawMessage(`{}`)

func normalArguments(args []byte) json.RawMessage {
	switch string(bytes.TrimSpace(args)) {
	case "", "null":
		return noArguments
	default:
		return args
	}
}
