package toolschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

type fields = map[string]json.RawMessage

// schemaNode is a schema being rewritten.
type schemaNode struct {
	list []rawjson.Member
	// told are the dropped constraints, and wide is set if the schema accepts more than before.
	told fields
	wide bool
	// negated are keywords to drop, and loose is set if oneOf becomes anyOf, both because of their
	// contents. lost are properties whose names the vendor rejects.
	negated []string
	loose   bool
	lost    []rawjson.Member
}

func (n *schemaNode) get(name string) json.RawMessage { return rawjson.Find(n.list, name) }

func (n *schemaNode) set(name string, value json.RawMessage) {
	for i := range n.list {
		if n.list[i].Name == name {
			n.list[i].Value = value
			return
		}
	}
	n.list = append(n.list, rawjson.Member{Name: name, Value: value})
}

func (n *schemaNode) remove(name string) {
	n.list = slices.DeleteFunc(n.list, func(m rawjson.Member) bool { return m.Name == name })
}

// describe returns a description extended with a note.
func describe(description json.RawMessage, text string) json.RawMessage {
	var known string
	_ = json.Unmarshal(description, &known) // any other value describes nothing
	return encode(strings.TrimSpace(known + " " + text))
}

// hasType reports whether the value of type includes a type.
func hasType(value json.RawMessage, name string) bool { return slices.Contains(typesOf(value), name) }

// typesOf returns the types that the value of type names.
func typesOf(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var several []string
	_ = json.Unmarshal(value, &several) // any other value names none
	return several
}

// encode encodes texts, raw messages and collections of them in the form most readable for models.
func encode(v any) json.RawMessage {
	encoded, err := rawjson.Marshal(v)
	if err != nil {
		return json.RawMessage(`{}`) // not reached: raw messages were decoded
	}
	return encoded
}
