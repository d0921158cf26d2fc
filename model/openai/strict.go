package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Limits of the vendor's strict mode that a schema may exceed: the nesting depth, and the total
// number of enumeration values. Its other limits, on the number and length of names, exceed the
// maximum output schema.
const (
	maxStrictDepth = 10
	maxStrictEnum  = 1000
)

// strictSchema returns a schema in the form of the vendor's strict mode, and whether it has one.
// The order of properties is kept, because models write them in this order.
//
// It removes annotations that the mode rejects, and closes objects that do not set
// additionalProperties, which only narrows the possible answers. Everything else must already fit:
// every property required, and no unknown keywords.
func strictSchema(schema json.RawMessage) (json.RawMessage, bool) {
	root, ok := rawjson.Members(schema)
	if !ok || string(rawjson.Find(root, "type")) != `"object"` || rawjson.Find(root, "anyOf") != nil {
		return nil, false
	}
	w := &strictWriter{}
	if !w.writeSchema(schema, 0) || w.enum > maxStrictEnum {
		return nil, false
	}
	return w.out.Bytes(), true
}

// strictWriter writes a schema while checking it. Its methods report whether their input fits
// strict mode; otherwise the output is invalid.
type strictWriter struct {
	out rawjson.Writer
	// enum counts the values of all enumerations.
	enum int
}

// notes are keywords that only inform readers. The mode accepts title and description, but not
// beside a reference.
var notes = []string{"$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"}

// plainKeywords are kept unchanged.
var plainKeywords = []string{
	"type", "title", "description", "const", "enum", "pattern", "format", "multipleOf",
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
	"required", "additionalProperties", "$ref",
}

// strictFormats are the string formats that the mode supports.
var strictFormats = []string{
	"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
}

// writeSchema writes a schema. depth is the number of enclosing schemas.
func (w *strictWriter) writeSchema(raw json.RawMessage, depth int) bool {
	fields, ok := rawjson.Members(raw)
	if !ok || !isTyped(fields) || depth > maxStrictDepth {
		return false
	}
	kind := rawjson.Find(fields, "type")
	object := allowsType(kind, "object")
	if object && !isClosed(fields) || allowsType(kind, "array") && rawjson.Find(fields, "items") == nil {
		return false
	}
	w.out.WriteByte('{')
	for _, f := range fields {
		if slices.Contains(notes, f.Name) || rawjson.Find(fields, "$ref") != nil && (f.Name == "title" || f.Name == "description") {
			continue
		}
		w.out.WriteName(f.Name)
		if !w.writeKeyword(f, depth) {
			return false
		}
	}
	if object && rawjson.Find(fields, "additionalProperties") == nil {
		w.out.WriteName("additionalProperties")
		w.out.WriteString("false")
	}
	w.out.WriteByte('}')
	return true
}

// writeKeyword writes the value of a keyword.
func (w *strictWriter) writeKeyword(f rawjson.Member, depth int) bool {
	write := func(schema json.RawMessage) bool { return w.writeSchema(schema, depth+1) }
	switch f.Name {
	case "properties", "$defs", "definitions":
		return w.out.WriteMembers(f.Value, write)
	case "items":
		return write(f.Value)
	case "anyOf":
		return w.out.WriteElements(f.Value, write)
	case "format":
		var format string
		if json.Unmarshal(f.Value, &format) != nil || !slices.Contains(strictFormats, format) {
			return false
		}
	case "$ref":
		var ref string
		if json.Unmarshal(f.Value, &ref) != nil || !strings.HasPrefix(ref, "#") {
			return false
		}
	case "enum":
		var values []json.RawMessage
		if json.Unmarshal(f.Value, &values) != nil {
			return false
		}
		w.enum += len(values)
	}
	w.out.Write(f.Value)
	return slices.Contains(plainKeywords, f.Name)
}

// isTyped reports whether a schema has a type in a form that the mode knows.
func isTyped(fields []rawjson.Member) bool {
	return rawjson.Find(fields, "type") != nil || rawjson.Find(fields, "$ref") != nil || rawjson.Find(fields, "anyOf") != nil
}

// allowsType reports whether the value of type includes the named type.
func allowsType(value json.RawMessage, name string) bool {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return one == name
	}
	var several []string
	_ = json.Unmarshal(value, &several) // any other value allows nothing
	return slices.Contains(several, name)
}

// isClosed reports whether an object's schema lists all of its properties: none is optional, and
// others are forbidden. A schema that lists none may allow any.
func isClosed(fields []rawjson.Member) bool {
	properties, ok := rawjson.Members(rawjson.Find(fields, "properties"))
	more := string(rawjson.Find(fields, "additionalProperties"))
	if more != "" && more != "false" || !ok && more == "" {
		return false
	}
	var required []string
	if value := rawjson.Find(fields, "required"); value != nil && json.Unmarshal(value, &required) != nil {
		return false
	}
	named := rawjson.IndexMembers(properties)
	for _, name := range required {
		delete(named, name)
	}
	return len(named) == 0 && len(required) == len(properties) && (len(properties) > 0 || more == "false")
}
