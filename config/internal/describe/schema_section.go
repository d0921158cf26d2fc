package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	schema, err := decodeOrdered(decoder)
	if err != nil {
		return nil
	}
	out, err := json.Marshal(acceptReferences(schema))
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
		case string:
			return types == "string"
		case []any:
			return slices.Contains(types, any("string"))
		}
	}
	return true
}

// decodeOrdered reads a JSON value and keeps the order of object members.
func decodeOrdered(decoder *json.Decoder) (any, error) { return decodeNested(decoder, 0) }

// decodeNested is decodeOrdered for a value nested depth collections deep.
func decodeNested(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if _, opens := token.(json.Delim); opens && depth >= yamltree.MaxDepth {
		return nil, fmt.Errorf("collections are nested more than %d levels deep", yamltree.MaxDepth)
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeNested(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			text, _ := name.(string)
			o = o.with(text, value)
		}
		_, err = decoder.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := decodeNested(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}
