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
