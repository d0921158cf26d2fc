package toolschema

import (
	"encoding/json"
	"maps"
	"slices"
)

// The limits of flattening.
const (
	maxDepth    = 8
	maxBranches = 256
)

// flattenRoot moves content below the root keywords that the dialect rejects into the root, and
// reports whether there was any. The properties of alternatives become properties of the root; they
// are required if all alternatives require them.
func (w *rewriter) flattenRoot(root fields) bool {
	folded, told := false, fields{}
	for _, name := range w.dialect.rejected {
		if root[name] == nil {
			continue
		}
		folded = true
		if name != "$ref" && name != "allOf" {
			told[name] = root[name]
			w.mapped.drop(name)
		}
	}
	if !folded {
		return false
	}
	f := &folder{rewriter: w}
	all := f.shapeOf(root, 0)
	w.mapped.Note = note("The arguments", told)
	for _, name := range w.dialect.rejected {
		delete(root, name)
	}
	if all.limited {
		// Alternatives add properties that the root would reject.
		w.mapped.drop("additionalProperties")
		delete(root, "additionalProperties")
	}
	root["properties"] = encode(all.properties)
	delete(root, "required")
	if len(all.required) > 0 {
		root["required"] = encode(all.required)
	}
	return true
}

// shape describes the objects that a schema accepts.
type shape struct {
	properties fields
	required   []string
	// limited is set for a schema that constrains unnamed properties, and closed for one that
	// rejects them.
	limited, closed bool
}

type folder struct {
	*rewriter

	branches int
}

// shapeOf returns the shape of a schema. Content nested too deeply is unknown and dropped.
func (f *folder) shapeOf(schema fields, depth int) shape {
	s := shape{properties: fields{}}
	if f.branches++; depth > maxDepth || f.branches > maxBranches {
		f.mapped.drop("deep alternatives")
		return s
	}
	var ref string
	if json.Unmarshal(schema["$ref"], &ref) == nil && ref != "" {
		var named fields
		if json.Unmarshal(f.target(ref), &named) == nil && named != nil {
			s.addAll(f.shapeOf(named, depth+1))
			f.dropOthers("$ref", named)
		} else {
			f.mapped.drop("$ref")
		}
		if f.ignoresSiblings() {
			return s
		}
	}
	own := shape{properties: fields{}}
	_ = json.Unmarshal(schema["properties"], &own.properties) // others have none
	_ = json.Unmarshal(schema["required"], &own.required)
	more := string(schema["additionalProperties"])
	own.limited = more != "" && more != "true" && more != "null"
	own.closed = more == "false" && schema["patternProperties"] == nil
	s.addAll(own)
	for _, branch := range branchesOf(schema["allOf"]) {
		if branch == nil { // true or false
			f.mapped.drop("allOf")
		}
		s.addAll(f.shapeOf(branch, depth+1))
		f.dropOthers("allOf", branch)
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

// dropOthers drops the constraints of a schema that a shape cannot express.
func (f *folder) dropOthers(keyword string, schema fields) {
	for name, value := range schema {
		switch name {
		case "properties", "required", "additionalProperties", "allOf", "$ref":
			continue
		case "type":
			if hasType(value, "object") {
				continue
			}
		}
		if slices.Contains(constraints, name) {
			f.mapped.drop(keyword + "." + name)
		}
	}
}

// branchesOf returns the schemas of a list that are objects; others do not concern properties.
func branchesOf(list json.RawMessage) []fields {
	var raw []json.RawMessage
	_ = json.Unmarshal(list, &raw) // none if it is not a list
	branches := make([]fields, len(raw))
	for i := range raw {
		_ = json.Unmarshal(raw[i], &branches[i]) // a boolean has no fields
	}
	return branches
}

// addAll adds a schema that must hold too.
func (s *shape) addAll(other shape) {
	for name, schema := range other.properties {
		s.properties[name] = combine("allOf", s.properties[name], schema)
	}
	for _, name := range other.required {
		if !slices.Contains(s.required, name) {
			s.required = append(s.required, name)
		}
	}
	s.limited, s.closed = s.limited || other.limited, s.closed || other.closed
}

// addAlternatives adds schemas of which one must hold.
func (s *shape) addAlternatives(list []shape) {
	if len(list) == 0 {
		return
	}
	names := map[string]bool{}
	s.closed = s.closed || !slices.ContainsFunc(list, func(one shape) bool { return !one.closed })
	for _, one := range list {
		s.limited = s.limited || one.limited
		for name := range one.properties {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var either json.RawMessage
		open := false
		for _, one := range list {
			if schema := one.properties[name]; schema != nil {
				either = combine("anyOf", either, schema)
			} else {
				open = open || !one.closed
			}
		}
		if open { // alternatives without the property accept any value
			if s.properties[name] == nil {
				s.properties[name] = s.optionalSchema(list, name, either)
			}
			continue
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

// optionalSchema returns the description of a property that some alternatives lack, along with its
// schema in the others, whose constraints do not apply to those.
func (s *shape) optionalSchema(list []shape, name string, either json.RawMessage) json.RawMessage {
	var description json.RawMessage
	for _, one := range list {
		var schema fields
		if json.Unmarshal(one.properties[name], &schema) == nil && schema["description"] != nil {
			description = schema["description"]
			break
		}
	}
	var told fields
	_ = json.Unmarshal(either, &told) // true is not an object and has no keywords
	delete(told, "description")
	if text := note("Where it applies, it", told); text != "" {
		description = describe(description, text)
	}
	if description == nil {
		return json.RawMessage(`{}`)
	}
	return encode(fields{"description": description})
}

// combine returns the schema of values that satisfy both schemas or one of them.
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
	return encode(map[string][]json.RawMessage{keyword: append(list, b)})
}
