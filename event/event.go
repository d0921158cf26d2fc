// Package event defines the events of a turn: the records of its log, in order, from run_start to
// the single terminal event.
package event

import (
	"encoding/json"
	"errors"
	"time"
)

// Event is one record of a turn's log.
type Event struct {
	// Seq numbers the events of a turn from 1 without gaps.
	Seq uint64
	// Time is when the event happened.
	Time time.Time
	// TurnID and SessionID identify the event's turn and session.
	TurnID    string
	SessionID string
	// Path lists the ids of the calls that led to the delegate that emitted the event, outermost
	// first; empty for the turn's own events. It is read-only.
	Path []string
	// Data is what happened.
	Data Data
}

// Data is the content of an event. Each type of this package that implements it is one kind of
// event.
type Data interface {
	// Type is the event's name: the value of event_type in JSON.
	Type() Type
}

// Sink receives the events of a turn. Emit is called by one goroutine at a time, in the order of
// Seq, and must not block for long.
type Sink interface {
	Emit(ev Event)
}

// SinkFunc is a function that implements Sink.
type SinkFunc func(ev Event)

// Emit calls f.
func (f SinkFunc) Emit(ev Event) { f(ev) }

// Discard is a Sink that drops everything.
var Discard Sink = SinkFunc(func(Event) {})

// Terminal reports whether the event ends its turn. The end of a delegate does not.
func (e *Event) Terminal() bool {
	_, finish := e.Data.(*RunFinish)
	return finish && len(e.Path) == 0
}

var errNoData = errors.New("an event has no data")

// MarshalJSON writes the event as one flat object: seq, time, event_type,
// turn_id, session_id and path, then the fields of its data, which must not be nil.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Data == nil {
		return nil, errNoData
	}
	body, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	head := header{e.Seq, e.Time, e.Data.Type(), e.TurnID, e.SessionID, e.Path}
	return head.joinBody(body)
}
