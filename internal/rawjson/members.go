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

// Members returns the entries of a JSON object in their order, and reports whether raw is
// an object without duplicate names.
func Members(raw json.RawMessage) ([]Member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var list []Member
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, false
		}
		m := Member{Name: name}
		if d.Decode(&m.Value) != nil || Find(list, m.Name) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	_, err := d.Token()
	return list, err == nil
}

// Find returns the value of the member with the name, or nil without one.
func Find(list []Member, name string) json.RawMessage {
	for i := range list {
		if list[i].Name == name {
			return list[i].Value
		}
	}
	return nil
}

// EncodeMembers encodes an object with its entries in order. Their values are JSON.
func EncodeMembers(list []Member) json.RawMessage {
	var out bytes.Buffer
	names := json.NewEncoder(&out)
	names.SetEscapeHTML(false)
	out.WriteByte('{')
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		_ = names.Encode(list[i].Name) // a text encodes
		out.Truncate(out.Len() - 1)    // the new line after it
		out.WriteByte(':')
		out.Write(list[i].Value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
