package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Object is a JSON object that preserves the order and text of its members.
type Object []rawjson.Member

// DecodeObject decodes an object without decoding its members' values.
func DecodeObject(raw json.RawMessage) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, errors.New("it must be a JSON object")
	}
	o := Object{}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := rawjson.Member{}
		m.Name, _ = name.(string)
		if seen[m.Name] {
			return nil, fmt.Errorf("the member %q is repeated", clip.Text(m.Name))
		}
		seen[m.Name] = true
		if err := decoder.Decode(&m.Value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return o, nil
}

// IsNull reports whether a value is null.
func IsNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// Set returns the object with the named member replaced or added.
func (o Object) Set(name string, value json.RawMessage) Object {
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
			return o
		}
	}
	return append(o, rawjson.Member{Name: name, Value: value})
}

// Without returns the object without a member.
func (o Object) Without(name string) Object {
	return slices.DeleteFunc(slices.Clone(o), func(m rawjson.Member) bool { return m.Name == name })
}

// Encode returns the object as compact JSON.
func (o Object) Encode() (json.RawMessage, error) {
	var w rawjson.Writer
	w.WriteByte('{')
	for _, m := range o {
		w.WriteName(m.Name)
		if err := json.Compact(&w.Buffer, m.Value); err != nil {
			return nil, err
		}
	}
	w.WriteByte('}')
	return w.Bytes(), nil
}
