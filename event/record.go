package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Record is an event with encoded data, as stored in a log. Its JSON form is the event's, byte for
// byte.
type Record struct {
	Seq       uint64
	Time      time.Time
	TurnID    string
	SessionID string
	Type      Type
	// Path is the path of a delegate's event, as in Event. It is read-only.
	Path []string
	// Data is the JSON object of the event's data.
	Data json.RawMessage
}

// NewRecord encodes an event, which must have data.
func NewRecord(ev Event) (Record, error) {
	if ev.Data == nil {
		return Record{}, errNoData
	}
	r := Record{Seq: ev.Seq, Time: ev.Time, TurnID: ev.TurnID, SessionID: ev.SessionID, Type: ev.Data.Type(), Path: ev.Path}
	data, err := json.Marshal(ev.Data)
	if err != nil {
		return Record{}, fmt.Errorf("encode %s: %w", r.Type, err)
	}
	r.Data = data
	return r, nil
}

// Terminal reports whether the event ends its turn. The end of a delegate does not.
func (r *Record) Terminal() bool { return r.Type == TypeRunFinish && len(r.Path) == 0 }

// PathText returns the path in stored form: a JSON array, or "" if it is empty.
func (r *Record) PathText() string {
	if len(r.Path) == 0 {
		return ""
	}
	return string(appendPath(nil, r.Path))
}

// ParsePath parses the output of PathText. Any other text becomes the only element, so that a
// delegate's event is never mistaken for its caller's.
func ParsePath(text string) (path []string) {
	if text == "" {
		return nil
	}
	if json.Unmarshal([]byte(text), &path) != nil || len(path) == 0 {
		return []string{text}
	}
	return path
}

// MarshalJSON writes the event like Event.MarshalJSON, with ids in their displayed form.
func (r Record) MarshalJSON() ([]byte, error) {
	head := header{r.Seq, r.Time, r.Type, ShownID(r.TurnID), ShownID(r.SessionID), r.Path}
	return head.joinBody(r.Data)
}

// UnmarshalJSON decodes the output of MarshalJSON. It preserves the order and form of the data's
// fields, also for unknown kinds of events.
func (r *Record) UnmarshalJSON(encoded []byte) error {
	var head header
	if err := json.Unmarshal(encoded, &head); err != nil {
		return fmt.Errorf("decode an event: %w", err)
	}
	data, err := withoutHeader(encoded)
	if err != nil {
		return fmt.Errorf("decode an event: %w", err)
	}
	*r = Record{Seq: head.Seq, Time: head.Time, TurnID: head.TurnID, SessionID: head.SessionID, Type: head.EventType, Path: head.Path, Data: data}
	return nil
}

// Event returns the event with decoded data. For a kind that this package does not have, it returns
// an *UnknownTypeError.
func (r *Record) Event() (Event, error) {
	data, err := decodeData(r.Type, r.Data)
	if err != nil {
		return Event{}, err
	}
	return Event{Seq: r.Seq, Time: r.Time, TurnID: r.TurnID, SessionID: r.SessionID, Path: r.Path, Data: data}, nil
}
