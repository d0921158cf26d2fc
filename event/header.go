package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"
)

// header holds the fields that every event has in JSON.
type header struct {
	Seq       uint64    `json:"seq"`
	Time      time.Time `json:"time"`
	EventType Type      `json:"event_type"`
	TurnID    string    `json:"turn_id"`
	SessionID string    `json:"session_id,omitempty"`
	Path      []string  `json:"path,omitempty"`
}

// headerSize is the size of most headers' fields, in bytes.
const headerSize = 224

// joinBody returns an event's object: the header fields followed by the event's data. It encodes
// the header like json.Marshal, but without reflection, because it runs for every event and every
// reader.
func (h *header) joinBody(body []byte) (b []byte, err error) {
	b = make([]byte, 0, headerSize+len(body))
	b = strconv.AppendUint(append(b, `{"seq":`...), h.Seq, 10)
	b = append(b, `,"time":"`...)
	if b, err = h.Time.AppendText(b); err != nil {
		return nil, err
	}
	b = append(b, `","event_type":`...)
	b = appendString(b, string(h.EventType))
	b = append(b, `,"turn_id":`...)
	b = appendString(b, h.TurnID)
	if h.SessionID != "" {
		b = append(b, `,"session_id":`...)
		b = appendString(b, h.SessionID)
	}
	if len(h.Path) > 0 {
		b = appendPath(append(b, `,"path":`...), h.Path)
	}
	if len(body) <= len(`{}`) || body[0] != '{' {
		return append(b, '}'), nil // the data has no fields, or is a nil pointer
	}
	b = append(b, ',')
	return append(b, body[1:]...), nil
}

// appendPath appends the JSON form of a path.
func appendPath(b []byte, path []string) []byte {
	b = append(b, '[')
	for i, call := range path {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, call)
	}
	return append(b, ']')
}

// appendString appends the JSON form of a text.
func appendString(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(text)
			if err != nil { // strings always encode
				quoted = []byte(`""`)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

var errNoObject = errors.New("not a JSON object")

// withoutHeader returns the object of an event's data: the event without the header fields.
func withoutHeader(encoded []byte) (json.RawMessage, error) {
	fields := json.NewDecoder(bytes.NewReader(encoded))
	if begin, err := fields.Token(); err != nil || begin != json.Delim('{') {
		return nil, errNoObject
	}
	data := make([]byte, 0, len(encoded))
	data = append(data, '{')
	for fields.More() {
		name, err := fields.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			return nil, err
		}
		switch name {
		case "seq", "time", "event_type", "turn_id", "session_id", "path":
			continue
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		text, _ := name.(string) // object keys are always strings
		data = appendString(data, text)
		data = append(data, ':')
		data = append(data, value...)
	}
	return append(data, '}'), nil
}
