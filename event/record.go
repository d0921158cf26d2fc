package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Record is an event whose data is encoded: how a log keeps it. Its JSON form is
// that of the event, byte for byte.
type Record struct {
	Seq       uint64
	Time      time.Time
	TurnID    string
	SessionID string
	Type      Type
	// Data is the JSON object of the event's data.
	Data json.RawMessage
}

// NewRecord encodes an event, which must have data.
func NewRecord(ev Event) (Record, error) {
	if ev.Data == nil {
		return Record{}, errNoData
	}
	r := Record{Seq: ev.Seq, Time: ev.Time, TurnID: ev.TurnID, SessionID: ev.SessionID, Type: ev.Data.Type()}
	data, err := json.Marshal(ev.Data)
	if err != nil {
		return Record{}, fmt.Errorf("encode %s: %w", r.Type, err)
	}
	r.Data = data
	return r, nil
}

// Terminal reports whether the event ends its turn.
func (r *Record) Terminal() bool { return r.Type == TypeRunFinish }

// MarshalJSON writes the event as Event.MarshalJSON does.
func (r Record) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(header{r.Seq, r.Time, r.Type, r.TurnID, r.SessionID})
	if err != nil {
		return nil, err
	}
	return join(head, r.Data), nil
}

// join adds the fields of an event's data to those that every event has.
func join(head, body []byte) []byte {
	if len(body) <= len(`{}`) || body[0] != '{' {
		return head // the data has no fields, or is a nil pointer
	}
	head[len(head)-1] = ','
	return append(head, body[1:]...)
}
