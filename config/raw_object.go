package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// rawObject is a JSON object that preserves the order and text of its members.
type rawObject []rawMember

type rawMember struct {
	name  string
	value json.RawMessage
}

// decodeMembers decodes an object without decoding its members' values.
func decodeMembers(raw json.RawMessage) (rawObject, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, errors.New("it must be a JSON object")
	}
	o := rawObject{}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := rawMember{}
		m.name, _ = name.(string)
		if seen[m.name] {
			return nil, fmt.Errorf("the member %q is repeated", clip.Text(m.name))
		}
		seen[m.name] = true
		if err := decoder.Decode(&m.value); err != nil {
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

func isNullJSON(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

func (o rawObject) find(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set returns the object with the named member replaced or added.
func (o rawObject) set(name string, value json.RawMessage) rawObject {
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, rawMember{name, value})
}

func (o rawObject) encode() (json.RawMessage, error) {
	var w rawjson.Writer
	w.WriteByte('{')
	for _, m := range o {
		w.WriteName(m.name)
		if err := json.Compact(&w.Buffer, m.value); err != nil {
			return nil, err
		}
	}
	w.WriteByte('}')
	return w.Bytes(), nil
}
