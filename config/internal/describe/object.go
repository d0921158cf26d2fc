package describe

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// object is a JSON object that preserves the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// with returns the object with a member added.
func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// withText adds a member unless its value is empty.
func (o object) withText(name, value string) object {
	if value == "" {
		return o
	}
	return o.with(name, value)
}

// has reports whether the object has a member with the name.
func (o object) has(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name })
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var w rawjson.Writer
	w.WriteByte('{')
	for _, m := range o {
		value, err := rawjson.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		w.WriteName(m.name)
		w.Write(value)
	}
	w.WriteByte('}')
	return w.Bytes(), nil
}
