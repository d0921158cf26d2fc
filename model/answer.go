package model

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// MaxAnswer is the size limit of an answer in bytes: text, reasoning, arguments,
// ids and names, plus 1 KiB for each part. An event that adds nothing counts as one
// byte, so that every stream ends.
const MaxAnswer = 16 << 20

const (
	partSize = 1 << 10
	// maxCallID is the maximum length of a call id, in bytes. Vendors accept fewer.
	maxCallID = 256
)

// Answer assembles a model's answer from its events. The zero value is ready to
// use.
type Answer struct {
	Reason FinishReason
	// Usage counts the tokens of the answer; zero if the vendor reported none.
	Usage Usage
	// Finished is set once the answer has ended properly.
	Finished bool
	// Served is the model that answers, if a pool reported one.
	Served Served
	// Retries counts the retries of the request.
	Retries int
	// Taken, if set, reports whether an earlier call has an id: no call of the answer then gets
	// that id. Reset keeps it.
	Taken func(id string) bool
	// MaxCalls, if set, limits the calls of the answer: Message omits further calls, and Omitted
	// counts them. Reset keeps it.
	MaxCalls int

	number int
	// size is the size that counts toward MaxAnswer.
	size int
	// parts are the parts of the answer in the order they began, and calls the positions of the
	// tool calls among them.
	parts []partial
	calls []int
}

// Served is the member of a pool that answers.
type Served struct {
	// ID is the model's id; empty if no pool chose it.
	ID string
	// Upstream is the vendor's name of the model.
	Upstream string
}

// partial is a part that is still being assembled.
type partial struct {
	typ PartType
	// data is the text, the readable reasoning or the arguments.
	data []byte
	// id is the id of the call or the reasoning item; name is the tool's name.
	id, name  string
	encrypted string
	// extra is the vendor's addition to a call.
	extra json.RawMessage
	// done is set when the part is complete, and canceled when it was retracted.
	done, canceled bool
}

// Add appends the next event. It returns an *Error of class Provider for an event
// out of order: a piece of a call that never started, is complete or was canceled,
// a call started out of order, or anything after the finish. An answer larger than
// MaxAnswer fails with class Truncated, because asking again would not help.
func (a *Answer) Add(ev *Event) error {
	if a.Finished {
		return protocolError("an event follows the end of the answer")
	}
	if a.size += max(1, len(ev.Delta)+len(ev.ID)+len(ev.Name)); a.size > MaxAnswer {
		return &Error{Class: Truncated, Message: fmt.Sprintf("the answer is larger than %d MiB", MaxAnswer>>20)}
	}
	switch ev.Type {
	case EventText:
		p := a.openPart(PartText)
		p.appendData(ev.Delta)
	case EventReasoning:
		p := a.openPart(PartReasoning)
		if p.name == "" {
			p.name = ev.Name
		}
		p.appendData(ev.Delta)
	case EventReasoningEncrypted:
		p := a.openPart(PartReasoning)
		p.encrypted, p.id, p.done = ev.Delta, ev.ID, true
	case EventToolCallStart:
		if ev.Index != len(a.calls) {
			return protocolError(fmt.Sprintf("tool call %d starts as number %d", ev.Index, len(a.calls)))
		}
		id := ev.ID
		if !a.Omits(ev.Index) {
			id = a.callID(id)
		}
		a.calls = append(a.calls, len(a.parts))
		p := a.addPart(PartToolCall)
		p.id, p.name = id, ev.Name
	case EventToolCallDelta, EventToolCallEnd:
		p := a.startedCall(ev.Index)
		if p == nil {
			return protocolError(fmt.Sprintf("tool call %d never started", ev.Index))
		}
		if p.done {
			return protocolError(fmt.Sprintf("tool call %d continues after its end", ev.Index))
		}
		p.appendData(ev.Delta)
		p.done = ev.Type == EventToolCallEnd
	case EventToolCallExtra:
		p := a.startedCall(ev.Index)
		if p == nil || !json.Valid([]byte(ev.Delta)) {
			return protocolError(fmt.Sprintf("tool call %d has invalid extra content", ev.Index))
		}
		p.extra = json.RawMessage(ev.Delta)
	case EventToolCallCancel:
		p := a.startedCall(ev.Index)
		if p == nil {
			return protocolError(fmt.Sprintf("tool call %d is taken back, but never started", ev.Index))
		}
		p.done, p.canceled = true, true
	case EventFinish:
		a.Reason, a.Finished = ev.Reason, true
		if ev.Usage != nil {
			a.Usage = ev.Usage.Reconciled()
		}
	case EventServed:
		a.Served = Served{ID: ev.ID, Upstream: ev.Name}
	case EventRetry:
		a.Retries++
	case EventReset:
		a.parts, a.calls, a.size = a.parts[:0], a.calls[:0], 0
	default:
		return protocolError(fmt.Sprintf("an event has the unknown type %d", ev.Type))
	}
	return nil
}

// openPart returns the part to which text or reasoning is appended: the last part if it has that
// type and is incomplete, otherwise a new one.
func (a *Answer) openPart(typ PartType) *partial {
	n := len(a.parts)
	for n > 0 && a.parts[n-1].canceled {
		n--
	}
	if n > 0 && a.parts[n-1].typ == typ && !a.parts[n-1].done {
		return &a.parts[n-1]
	}
	return a.addPart(typ)
}

// startedCall returns the call with the number index, or nil.
func (a *Answer) startedCall(index int) *partial {
	if index < 0 || index >= len(a.calls) {
		return nil
	}
	return &a.parts[a.calls[index]]
}

// addPart adds a part, reusing the memory of an earlier answer's part.
func (a *Answer) addPart(typ PartType) *partial {
	a.size += partSize
	var data []byte
	if n := len(a.parts); n < cap(a.parts) {
		data = a.parts[:n+1][n].data[:0]
	}
	a.parts = append(a.parts, partial{typ: typ, data: data})
	return &a.parts[len(a.parts)-1]
}

// secondRoom is the capacity of a part from its second piece on: most parts have either one or
// many.
const secondRoom = 256

// appendData adds a piece.
func (p *partial) appendData(piece string) {
	if n := len(p.data); n > 0 && n+len(piece) > cap(p.data) && n+len(piece) <= secondRoom {
		p.data = slices.Grow(p.data, secondRoom-n)
	}
	p.data = append(p.data, piece...)
}

// callID returns the id for a call that starts: the model's, unless it is missing, too long,
// invalid text or already taken. Some vendors number the calls of each answer from the start.
func (a *Answer) callID(id string) string {
	for n := len(a.calls); id == "" || len(id) > maxCallID || !clip.IsClean(id) || a.isIDTaken(id); n++ {
		id = fmt.Sprintf("call_%d_%d", a.number, n)
	}
	return id
}

func (a *Answer) isIDTaken(id string) bool {
	return slices.ContainsFunc(a.calls, func(i int) bool { return a.parts[i].id == id }) || a.Taken != nil && a.Taken(id)
}

// Reset empties the answer and keeps its memory. The number identifies the answer
// within its turn: it becomes part of the ids generated for calls without one.
func (a *Answer) Reset(number int) {
	*a = Answer{number: number, parts: a.parts[:0], calls: a.calls[:0], Taken: a.Taken, MaxCalls: a.MaxCalls}
}

func protocolError(text string) error {
	return &Error{Class: Provider, Message: "the stream is malformed: " + text}
}

// Call returns the id and name of the call with the number index, even if it was retracted.
func (a *Answer) Call(index int) (id, name string) {
	if p := a.startedCall(index); p != nil {
		return p.id, p.name
	}
	return "", ""
}

// Omits reports whether the call with the number index is beyond MaxCalls.
func (a *Answer) Omits(index int) bool { return a.MaxCalls > 0 && index >= a.MaxCalls }

// Omitted returns the number of calls that Message omits because they are beyond MaxCalls.
func (a *Answer) Omitted() (n int) {
	for i := range a.calls {
		if a.Omits(i) && !a.startedCall(i).canceled {
			n++
		}
	}
	return n
}

// Text returns the text so far.
func (a *Answer) Text() string {
	var text []byte
	for i := range a.parts {
		if a.parts[i].typ == PartText {
			text = append(text, a.parts[i].data...)
		}
	}
	return string(text)
}

// Message returns the answer as a message, with its parts in the order they began. It omits
// canceled calls and those beyond MaxCalls. A call without arguments, or with JSON null, has the
// arguments {}.
func (a *Answer) Message() Message {
	parts := make([]Part, 0, len(a.parts))
	calls, number := make([]ToolCall, 0, len(a.calls)), 0
	for i := range a.parts {
		p := &a.parts[i]
		switch p.typ {
		case PartText:
			if len(p.data) > 0 {
				parts = append(parts, Text(string(p.data)))
			}
		case PartReasoning:
			if len(p.data) > 0 || p.encrypted != "" {
				parts = append(parts, Part{Type: PartReasoning, Reasoning: &Reasoning{
					Text: string(p.data), Encrypted: p.encrypted, ID: p.id, Field: p.name,
				}})
			}
		case PartToolCall:
			omitted := a.Omits(number)
			if number++; p.canceled || omitted {
				continue
			}
			arguments, repair := repairArguments(p.data)
			calls = append(calls, ToolCall{ID: p.id, Name: p.name, Arguments: arguments, Repair: repair, Extra: p.extra})
			parts = append(parts, Part{Type: PartToolCall, ToolCall: &calls[len(calls)-1]})
		default: // an answer has no other parts
		}
	}
	return Message{Role: RoleAssistant, Parts: parts}
}
