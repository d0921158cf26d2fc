package describe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/plugins"
)

// sectionsOf returns the schema of the sections of an agent.
func (w *schemaWriter) sectionsOf() object {
	var properties object
	for _, s := range w.components.Sections {
		if w.patch {
			properties = properties.with(s.Key, object{{"description", s.Summary}})
			continue
		}
		name := "section." + s.Key
		if !w.taken[name] {
			w.taken[name] = true
			w.defs = w.defs.with(name, sectionSchema(s))
		}
		properties = properties.with(s.Key, object{}.withText("description", s.Summary).with("$ref", "#/$defs/"+name))
	}
	schema := object{{"type", "object"}}
	if len(properties) > 0 {
		schema = schema.with("properties", properties)
	}
	return schema
}

// sectionSchema returns the schema of a section for embedding. A schema with internal references
// gets an id, so that they still resolve. Texts in it may contain variables.
func sectionSchema(s plugins.Section) json.RawMessage {
	raw := allowReferences(s.Schema)
	if raw == nil {
		return json.RawMessage("true")
	}
	var own struct {
		ID     string `json:"$id"`
		Schema string `json:"$schema"`
	}
	if raw[0] != '{' || json.Unmarshal(raw, &own) != nil || own.ID != "" {
		return raw
	}
	if own.Schema == "" && !bytes.Contains(raw, []byte(`"$ref"`)) {
		return raw
	}
	id := `{"$id":` + strconv.Quote("urn:agentruntime:section:"+s.Key) + ","
	return append([]byte(id), raw[1:]...)
}

// annotations are schema keywords without an effect on validity.
var annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}

// textKeywords restrict texts. A text with a variable is checked after expansion, when the
// configuration is loaded.
var textKeywords = []string{"enum", "const", "pattern", "format", "minLength", "maxLength"}

// allowReferences returns a section's schema for use before expansion: wherever it restricts a
// text, a text with a variable is also valid. It returns nil if raw is not JSON.
func allowReferences(raw json.RawMessage) json.RawMessage {
	if !rawjson.Valid(raw) {
		return nil
	}
	if depth, _ := rawjson.Measure(raw); depth > yamltree.MaxDepth {
		return nil
	}
	out, err := json.Marshal(acceptReferences(decodeOrdered(raw)))
	if err != nil {
		return nil
	}
	return out
}

// acceptReferences returns a schema that accepts variables where it accepts some texts.
func acceptReferences(schema any) any {
	s, ok := schema.(object)
	if !ok {
		return schema
	}
	var notes, rest object
	restricted := false
	for _, m := range s {
		switch {
		case slices.Contains(annotations, m.name):
			notes = append(notes, m)
			continue
		case slices.Contains(textKeywords, m.name):
			restricted = true
		default:
			m.value = referableBelow(m)
		}
		rest = append(rest, m)
	}
	if !restricted || !rest.mayBeText() {
		return append(notes, rest...)
	}
	return notes.with("anyOf", []any{rest, object{{"type", "string"}, {"pattern", reference}}})
}

// referableBelow returns a keyword's value with its schemas made referable. Schemas in oneOf are
// unchanged, because a variable must not match several.
func referableBelow(m member) any {
	switch m.name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, ok := m.value.(object)
		if !ok {
			return m.value
		}
		for i := range named {
			named[i].value = acceptReferences(named[i].value)
		}
		return named
	case "items", "additionalProperties", "unevaluatedProperties", "then", "else":
		return acceptReferences(m.value)
	case "prefixItems", "anyOf", "allOf":
		list, ok := m.value.([]any)
		if !ok {
			return m.value
		}
		for i := range list {
			list[i] = acceptReferences(list[i])
		}
		return list
	default:
		return m.value
	}
}

// mayBeText reports whether a schema accepts texts at all.
func (o object) mayBeText() bool {
	for _, m := range o {
		if m.name != "type" {
			continue
		}
		switch types := m.value.(type) {
		case json.RawMessage:
			return string(types) == `"string"`
		case []any:
			return slices.ContainsFunc(types, func(t any) bool { name, _ := t.(json.RawMessage); return string(name) == `"string"` })
		}
	}
	return true
}

// decodeOrdered decodes the objects and lists of valid JSON. Objects keep the order of their
// members, and other values stay JSON.
func decodeOrdered(raw []byte) any {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		o := object{}
		for name, value := range rawjson.Entries(raw) {
			o = o.with(name, decodeOrdered(value))
		}
		return o
	case '[':
		list := []any{}
		for element := range rawjson.Elements(raw) {
			list = append(list, decodeOrdered(element))
		}
		return list
	default:
		return json.RawMessage(raw)
	}
}
