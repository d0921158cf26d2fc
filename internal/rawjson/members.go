package rawjson

import (
	"bytes"
	"encoding/json"
)

// Member is one entry of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the entries of a JSON object in order, and reports whether raw is an object
// without duplicate names. Values are parts of raw.
func Members(raw json.RawMessage) ([]Member, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !Valid(raw) {
		return nil, false
	}
	var list []Member
	for name, value := range Entries(raw) {
		value = bytes.TrimSpace(value)
		list = append(list, Member{name, value[:len(value):len(value)]})
	}
	if len(IndexMembers(list)) < len(list) {
		return nil, false
	}
	return list, true
}

// Find returns the value of the member with the name, or nil if absent.
func Find(list []Member, name string) json.RawMessage {
	for i := range list {
		if list[i].Name == name {
			return list[i].Value
		}
	}
	return nil
}

// IndexMembers returns the set of the members' names, for repeated lookups in a long list.
func IndexMembers(list []Member) map[string]bool {
	names := make(map[string]bool, len(list))
	for i := range list {
		names[list[i].Name] = true
	}
	return names
}

// EncodeMembers encodes an object with its entries in order. Their values must be JSON.
func EncodeMembers(list []Member) json.RawMessage {
	var w Writer
	w.WriteByte('{')
	for i := range list {
		w.WriteName(list[i].Name)
		w.Write(list[i].Value)
	}
	w.WriteByte('}')
	return w.Bytes()
}

// Writer writes a JSON value piece by piece.
type Writer struct{ bytes.Buffer }

// WriteName writes the name of a member, after a comma if it is not the first of its object.
func (w *Writer) WriteName(name string) {
	if written := w.Bytes(); written[len(written)-1] != '{' {
		w.WriteByte(',')
	}
	w.WriteText(name)
	w.WriteByte(':')
}

// WriteText writes a JSON string. It does not escape HTML. Nearly all texts need no escape.
func (w *Writer) WriteText(s string) {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7F {
			w.writeEscaped(s)
			return
		}
	}
	w.WriteByte('"')
	w.WriteString(s)
	w.WriteByte('"')
}

func (w *Writer) writeEscaped(s string) {
	encoder := json.NewEncoder(&w.Buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)   // a text encodes
	w.Truncate(w.Len() - 1) // the trailing newline
}

// WriteMembers writes an object with the names of raw; write writes each value. It reports whether
// raw is an object and all values were written.
func (w *Writer) WriteMembers(raw json.RawMessage, write func(value json.RawMessage) bool) bool {
	fields, ok := Members(raw)
	w.WriteByte('{')
	for i := range fields {
		w.WriteName(fields[i].Name)
		ok = ok && write(fields[i].Value)
	}
	w.WriteByte('}')
	return ok
}

// WriteElements writes a list; write writes each element of raw. It reports whether raw is a list
// that is not empty and all elements were written.
func (w *Writer) WriteElements(raw json.RawMessage, write func(element json.RawMessage) bool) bool {
	var list []json.RawMessage
	ok := json.Unmarshal(raw, &list) == nil && len(list) > 0
	for i, element := range list {
		w.WriteByte("[,"[min(i, 1)])
		ok = ok && write(element)
	}
	w.WriteByte(']')
	return ok
}
