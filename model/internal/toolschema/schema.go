// Package toolschema maps the schemas of tools to those that vendors accept. A mapped
// schema accepts all objects that the original accepts.
package toolschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits of what is folded.
const (
	maxDepth    = 8
	maxBranches = 256
)

// keywords which vendors reject at the root of a schema.
var rootKeywords = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"}

// Describe returns the description of a tool with what its schema no longer says.
func (m *Mapped) Describe(description string) string {
	if m.Note == "" || description == "" {
		return description + m.Note
	}
	return description + "\n\n" + m.Note
}

type fields = map[string]json.RawMessage

// Mapped is a schema that a vendor accepts.
type Mapped struct {
	Schema json.RawMessage
	// Folded are the keywords of the root whose properties were moved into the root.
	Folded []string
	// Dropped are the constraints that the vendor is not told; nil if the schema accepts the
	// same objects as the original.
	Dropped []string
	// Note tells the model what was dropped; empty for nothing.
	Note string
}

// FlattenRoot returns a schema of type object without the keywords that vendors reject at
// its root: oneOf, anyOf, allOf, not, enum, const, conditions and $ref. The properties of
// alternatives become properties of the root, required if all alternatives require them.
func FlattenRoot(schema json.RawMessage) (Mapped, error) {
	var root fields
	if len(schema) == 0 {
		return Mapped{Schema: json.RawMessage(`{"type":"object"}`)}, nil
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		return Mapped{}, fmt.Errorf("the schema is not an object: %w", err)
	}
	m := Mapped{Schema: schema}
	for _, name := range rootKeywords {
		if root[name] != nil {
			m.Folded = append(m.Folded, name)
		}
	}
	changed := len(m.Folded) > 0
	if root == nil {
		root, changed = fields{}, true
	}
	if string(root["type"]) != `"object"` {
		root["type"], changed = json.RawMessage(`"object"`), true
	}
	if string(root["required"]) == "null" {
		delete(root, "required")
		changed = true
	}
	if len(m.Folded) > 0 {
		m.fold(root)
	}
	if !changed {
		return m, nil
	}
	var err error
	m.Schema, err = json.Marshal(root)
	return m, err
}

// fold moves what the root has below its rejected keywords into the root.
func (m *Mapped) fold(root fields) {
	f := &folder{root: root}
	all := f.shapeOf(root, 0)
	told := fields{}
	for _, name := range m.Folded {
		if name == "$ref" || name == "allOf" {
			continue
		}
		told[name] = root[name]
		m.Dropped = append(m.Dropped, name)
	}
	m.Dropped = append(m.Dropped, f.dropped...)
	if len(told) > 0 {
		if text, err := json.Marshal(told); err == nil {
			m.Note = "The arguments must also satisfy this JSON Schema: " + string(text)
		}
	}
	for _, name := range rootKeywords {
		delete(root, name)
	}
	if all.closed {
		// Alternatives add properties that the closed root would not have.
		m.Dropped = append(m.Dropped, "additionalProperties")
		delete(root, "additionalProperties")
	}
	root["properties"], _ = json.Marshal(all.properties) // raw messages encode
	delete(root, "required")
	if len(all.required) > 0 {
		root["required"], _ = json.Marshal(all.required) // texts encode
	}
}

// shape is what is known of the objects that a schema accepts.
type shape struct {
	properties fields
	required   []string
	// closed is set for a schema that allows no properties but those it names.
	closed bool
}

type folder struct {
	root     fields
	branches int
	dropped  []string
}

// shapeOf returns the shape of a schema. What lies too deep is unknown and dropped.
func (f *folder) shapeOf(schema fields, depth int) shape {
	s := shape{properties: fields{}}
	_ = json.Unmarshal(schema["properties"], &s.properties) // others have none
	_ = json.Unmarshal(schema["required"], &s.required)
	if s.properties == nil {
		s.properties = fields{}
	}
	more := string(schema["additionalProperties"])
	s.closed = more != "" && more != "true"
	if f.branches++; depth > maxDepth || f.branches > maxBranches {
		f.drop("deep alternatives")
		return s
	}
	if ref := f.resolve(schema["$ref"]); ref != nil {
		s.addAll(f.shapeOf(ref, depth+1))
	} else if schema["$ref"] != nil {
		f.drop("$ref")
	}
	for _, branch := range branchesOf(schema["allOf"]) {
		s.addAll(f.shapeOf(branch, depth+1))
		for name := range branch {
			if !slices.Contains([]string{"properties", "required", "type", "title", "description", "allOf"}, name) {
				f.drop("allOf." + name)
			}
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		var alternatives []shape
		for _, branch := range branchesOf(schema[keyword]) {
			alternatives = append(alternatives, f.shapeOf(branch, depth+1))
		}
		s.addAlternatives(alternatives)
	}
	for _, keyword := range []string{"then", "else"} {
		var branch fields
		if json.Unmarshal(schema[keyword], &branch) == nil && branch != nil {
			one := f.shapeOf(branch, depth+1)
			s.addAlternatives([]shape{one, {}})
		}
	}
	return s
}

func (f *folder) drop(what string) {
	if !slices.Contains(f.dropped, what) {
		f.dropped = append(f.dropped, what)
	}
}

// resolve returns the schema that a reference within the document names, or nil.
func (f *folder) resolve(ref json.RawMessage) fields {
	var text string
	if json.Unmarshal(ref, &text) != nil || !strings.HasPrefix(text, "#/") {
		return nil
	}
	at := f.root
	for name := range strings.SplitSeq(text[2:], "/") {
		var next fields
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if json.Unmarshal(at[name], &next) != nil {
			return nil
		}
		at = next
	}
	return at
}

// branchesOf returns the schemas of a list that are objects; others say nothing of
// properties.
func branchesOf(list json.RawMessage) []fields {
	var raw []json.RawMessage
	_ = json.Unmarshal(list, &raw) // none if it is not a list
	branches := make([]fields, len(raw))
	for i := range raw {
		_ = json.Unmarshal(raw[i], &branches[i]) // a boolean has no fields
	}
	return branches
}

// addAll adds a schema that holds as well.
func (s *shape) addAll(other shape) {
	for name, schema := range other.properties {
		s.properties[name] = combine("allOf", s.properties[name], schema)
	}
	for _, name := range other.required {
		if !slices.Contains(s.required, name) {
			s.required = append(s.required, name)
		}
	}
	s.closed = s.closed || other.closed
}

// addAlternatives adds schemas one of which holds.
func (s *shape) addAlternatives(list []shape) {
	if len(list) == 0 {
		return
	}
	names := map[string]int{}
	for _, one := range list {
		s.closed = s.closed || one.closed
		for name := range one.properties {
			names[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] < len(list) {
			// Alternatives without the property accept any value.
			if s.properties[name] == nil {
				s.properties[name] = s.optionalSchema(list, name)
			}
			continue
		}
		var either json.RawMessage
		for _, one := range list {
			either = combine("anyOf", either, one.properties[name])
		}
		s.properties[name] = combine("allOf", s.properties[name], either)
	}
	for _, name := range list[0].required {
		everywhere := !slices.ContainsFunc(list, func(one shape) bool { return !slices.Contains(one.required, name) })
		if everywhere && !slices.Contains(s.required, name) {
			s.required = append(s.required, name)
		}
	}
}

// optionalSchema returns the description of a property that some alternatives lack. Its
// constraints do not hold for those.
func (s *shape) optionalSchema(list []shape, name string) json.RawMessage {
	for _, one := range list {
		var schema fields
		if json.Unmarshal(one.properties[name], &schema) == nil && schema["description"] != nil {
			encoded, _ := json.Marshal(fields{"description": schema["description"]}) // raw messages encode
			return encoded
		}
	}
	return json.RawMessage(`{}`)
}

// combine returns the schema of values that satisfy both, or one of both.
func combine(keyword string, a, b json.RawMessage) json.RawMessage {
	if a == nil || string(a) == string(b) {
		return b
	}
	var list []json.RawMessage
	var known fields
	if json.Unmarshal(a, &known) == nil && len(known) == 1 && known[keyword] != nil {
		_ = json.Unmarshal(known[keyword], &list) // made here
	} else {
		list = []json.RawMessage{a}
	}
	for _, one := range list {
		if string(one) == string(b) {
			return a
		}
	}
	encoded, err := json.Marshal(map[string][]json.RawMessage{keyword: append(list, b)})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return encoded
}
