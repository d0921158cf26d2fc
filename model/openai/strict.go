package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The limits of the vendor's strict mode that a schema may reach: how deep it
// nests, and how many values its enumerations have together. The others, on the
// number and length of names, lie beyond what an output schema may be.
const (
	maxStrictDepth = 10
	maxStrictEnum  = 1000
)

// strictSchema returns a schema in the form that the vendor's strict mode
// takes, and whether there is one. The order of properties is kept, because
// models write them in this order.
//
// Notes for readers are left out where the mode refuses them. An object that
// does not say whether it may have further properties may not: that narrows
// what a model can answer and changes nothing else. Everything else must be so
// already: every property required, and no keyword that the mode does not
// know.
func strictSchema(schema json.RawMessage) (json.RawMessage, bool) {
	root, ok := members(schema)
	if !ok || string(find(root, "type")) != `"object"` || find(root, "anyOf") != nil {
		return nil, false
	}
	w := &strictWriter{}
	if !w.schema(schema, 0) || w.enum > maxStrictEnum {
		return nil, false
	}
	return w.out.Bytes(), true
}

// strictWriter writes a schema as it checks it. Its methods report whether what
// they were given fits into the strict mode; what was written counts only then.
type strictWriter struct {
	out bytes.Buffer
	// enum counts the values of all enumerations.
	enum int
}

// notes are keywords that only tell readers something. The mode takes title
// and description, though not beside a reference.
var notes = []string{"$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"}

// plainKeywords are those that are kept as they are.
var plainKeywords = []string{
	"type", "title", "description", "const", "enum", "pattern", "format", "multipleOf",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
	"required", "additionalProperties", "$ref",
}

// strictFormats are the formats of texts that the mode knows.
var strictFormats = []string{
	"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
}

// schema writes a schema. The depth is how many others it lies in.
func (w *strictWriter) schema(raw json.RawMessage, depth int) bool {
	fields, ok := members(raw)
	if !ok || !typed(fields) || depth > maxStrictDepth {
		return false
	}
	kind := find(fields, "type")
	object := allows(kind, "object")
	if object && !closed(fields) || allows(kind, "array") && find(fields, "items") == nil {
		return false
	}
	w.out.WriteByte('{')
	first := true
	for _, f := range fields {
		if slices.Contains(notes, f.name) || find(fields, "$ref") != nil && (f.name == "title" || f.name == "description") {
			continue
		}
		w.name(f.name, &first)
		if !w.keyword(f, depth) {
			return false
		}
	}
	if object && find(fields, "additionalProperties") == nil {
		w.name("additionalProperties", &first)
		w.out.WriteString("false")
	}
	w.out.WriteByte('}')
	return true
}

// keyword writes the value of a keyword.
func (w *strictWriter) keyword(f member, depth int) bool {
	switch f.name {
	case "properties", "$defs", "definitions":
		return w.schemas(f.value, depth)
	case "items":
		return w.schema(f.value, depth+1)
	case "anyOf":
		return w.alternatives(f.value, depth)
	case "format":
		var format string
		if json.Unmarshal(f.value, &format) != nil || !slices.Contains(strictFormats, format) {
			return false
		}
	case "$ref":
		var ref string
		if json.Unmarshal(f.value, &ref) != nil || !strings.HasPrefix(ref, "#") {
			return false
		}
	case "enum":
		var values []json.RawMessage
		if json.Unmarshal(f.value, &values) != nil {
			return false
		}
		w.enum += len(values)
	}
	w.out.Write(f.value)
	return slices.Contains(plainKeywords, f.name)
}

// schemas writes a mapping of names to schemas.
func (w *strictWriter) schemas(raw json.RawMessage, depth int) bool {
	fields, ok := members(raw)
	if !ok {
		return false
	}
	w.out.WriteByte('{')
	first := true
	for _, f := range fields {
		w.name(f.name, &first)
		if !w.schema(f.value, depth+1) {
			return false
		}
	}
	w.out.WriteByte('}')
	return true
}

func (w *strictWriter) alternatives(raw json.RawMessage, depth int) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return false
	}
	for i, alternative := range list {
		w.out.WriteByte("[,"[min(i, 1)])
		if !w.schema(alternative, depth+1) {
			return false
		}
	}
	w.out.WriteByte(']')
	return true
}

func (w *strictWriter) name(name string, first *bool) {
	if !*first {
		w.out.WriteByte(',')
	}
	*first = false
	quoted, _ := json.Marshal(name) // a text always encodes
	w.out.Write(quoted)
	w.out.WriteByte(':')
}

// typed reports whether a schema says what it is of in a way that the mode
// knows.
func typed(fields []member) bool {
	return find(fields, "type") != nil || find(fields, "$ref") != nil || find(fields, "anyOf") != nil
}

// allows reports whether the value of type names a type.
func allows(value json.RawMessage, name string) bool {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return one == name
	}
	var several []string
	_ = json.Unmarshal(value, &several) // what is neither allows nothing
	return slices.Contains(several, name)
}

// closed reports whether the schema of an object names all properties that the
// object has: none is optional, and there are no others. One that names none at
// all may have any.
func closed(fields []member) bool {
	properties, ok := members(find(fields, "properties"))
	more := string(find(fields, "additionalProperties"))
	if more != "" && more != "false" || !ok && more == "" {
		return false
	}
	var required []string
	if value := find(fields, "required"); value != nil && json.Unmarshal(value, &required) != nil {
		return false
	}
	for _, p := range properties {
		if !slices.Contains(required, p.name) {
			return false
		}
	}
	return len(required) == len(properties) && (len(properties) > 0 || more == "false")
}

// member is one entry of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the entries of a JSON object in their order, and whether raw
// is one without a name that is there twice.
func members(raw json.RawMessage) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var list []member
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, false
		}
		m := member{name: name}
		if d.Decode(&m.value) != nil || find(list, m.name) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	_, err := d.Token()
	return list, err == nil
}

// find returns the value of the member with the name, nil when there is none.
func find(list []member, name string) json.RawMessage {
	for i := range list {
		if list[i].name == name {
			return list[i].value
		}
	}
	return nil
}
