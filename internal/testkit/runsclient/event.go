package runsclient

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Event is an event of a run.
type Event struct {
	Seq  int64
	Type string
	// Payload is the event's payload, from the place where the SDK reads it.
	Payload map[string]any
}

// Text returns a field of the payload, or "" if it is not text.
func (e Event) Text(field string) string {
	text, _ := e.Payload[field].(string)
	return text
}

// Terminal reports whether the event ends a run.
func (e Event) Terminal() bool {
	return e.Type == "result" || e.Type == "error" || e.Type == "cancelled"
}

// Truncated reports whether the event was truncated because it was too large.
func (e Event) Truncated() bool { return e.Payload[marker] == true }

// readEvent reads a frame and checks that every SDK can read it: the number and the type are inside
// and outside the JSON, the payload at the top level and in data.
func (c *Client) readEvent(f frame) (Event, error) {
	wrong := func(problem string, args ...any) (Event, error) {
		return Event{}, &ProtocolError{Problem: fmt.Sprintf(problem, args...), Frame: f.data}
	}
	most := maxFrame
	if (Event{Type: f.event}).Terminal() {
		most = maxLastFrame
	}
	if f.lines != 1 || len(f.data) > most {
		return wrong("a frame has %d lines of data and %d bytes", f.lines, len(f.data))
	}
	var envelope struct {
		Seq  int64
		Type string
		Data map[string]any
	}
	if err := json.Unmarshal([]byte(f.data), &envelope); err != nil {
		return wrong("a frame is no event: %v", err)
	}
	var top map[string]any
	if err := json.Unmarshal([]byte(f.data), &top); err != nil {
		return wrong("a frame is not an object: %v", err)
	}
	for _, key := range []string{"seq", "type", "data"} {
		if top[key] == nil {
			return wrong("a frame has no %s", key)
		}
		delete(top, key)
	}
	if f.id != strconv.FormatInt(envelope.Seq, 10) || f.event != envelope.Type {
		return wrong("the frame %s %s says otherwise in its data", f.id, f.event)
	}
	if !reflect.DeepEqual(top, envelope.Data) {
		return wrong("a payload differs in its two places")
	}
	e := Event{Seq: envelope.Seq, Type: envelope.Type, Payload: top}
	if c.o.SDK == Python {
		e.Payload = envelope.Data
	}
	return e, nil
}
