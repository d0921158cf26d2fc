// Package claude defines what Claude accepts on every platform.
package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// maxDepth is the maximum nesting depth of a schema.
const maxDepth = 32

// OutputSchema returns the schema of an answer in the subset that Claude's structured
// output accepts, and reports whether there is one. Objects are closed, which narrows the
// answer, and limits that the subset lacks become part of the description: the caller
// checks the answer against the original schema. Properties keep their order.
func OutputSchema(schema json.RawMessage) (json.RawMessage, bool) {
	root, ok := rawjson.Members(schema)
	if !ok || string(rawjson.Find(root, "type")) != `"object"` {
		return nil, false
	}
	w := &schemaWriter{definitions: map[string]json.RawMessage{}, ends: map[string]bool{}}
	for _, place := range []string{"$defs", "definitions"} {
		list, _ := rawjson.Members(rawjson.Find(root, place))
		for _, d := range list {
			w.definitions[place+"/"+d.Name] = d.Value
		}
	}
	if !w.writeSchema(schema, 0) {
		return nil, false
	}
	return w.out.Bytes(), true
}

// schemaWriter writes a schema while checking it. Its methods report whether the schema fits;
// otherwise the output is invalid.
type schemaWriter struct {
	out rawjson.Writer
	// definitions holds the definitions of the root by keyword/name.
	definitions map[string]json.RawMessage
	// ends holds the definitions whose references were followed.
	ends map[string]bool
}

// The keywords kept unchanged, those informative to readers, and those that become part of the
// description.
var (
	keptKeywords    = []string{"type", "title", "enum", "const", "required", "$ref"}
	droppedKeywords = []string{"$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "description", "additionalProperties"}
	toldKeywords    = []string{
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
		"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
	}
	// keptFormats are the text formats in the subset.
	keptFormats = []string{`"date-time"`, `"time"`, `"date"`, `"duration"`, `"email"`, `"hostname"`, `"uri"`, `"ipv4"`, `"ipv6"`, `"uuid"`}
)

// writeSchema writes a schema. depth is the number of enclosing schemas.
func (w *schemaWriter) writeSchema(raw json.RawMessage, depth int) bool {
	fields, ok := rawjson.Members(raw)
	if !ok || depth > maxDepth {
		return false
	}
	object := string(rawjson.Find(fields, "type")) == `"object"`
	if !w.fits(fields, object) {
		return false
	}
	var told []string
	w.out.WriteByte('{')
	for _, f := range fields {
		switch {
		case w.isKept(f):
			w.out.WriteName(f.Name)
			w.out.Write(f.Value)
		case slices.Contains(toldKeywords, f.Name):
			told = append(told, fmt.Sprintf("%s: %s", f.Name, f.Value))
		case slices.Contains(droppedKeywords, f.Name):
		case !w.writeNested(f, depth):
			return false
		}
	}
	w.writeDescription(rawjson.Find(fields, "description"), told)
	if object {
		w.out.WriteName("additionalProperties")
		w.out.WriteString("false")
	}
	w.out.WriteByte('}')
	return true
}

// fits reports whether closing preserves the form of a schema: an object names its properties, and
// a reference leads to a definition that does not contain it.
func (w *schemaWriter) fits(fields []rawjson.Member, object bool) bool {
	if object {
		properties, named := rawjson.Members(rawjson.Find(fields, "properties"))
		more := string(rawjson.Find(fields, "additionalProperties"))
		return more == "false" || named && len(properties) > 0 && (more == "" || more == "true")
	}
	if ref := rawjson.Find(fields, "$ref"); ref != nil {
		return w.endsReference(ref)
	}
	for _, need := range []string{"type", "enum", "const", "anyOf", "oneOf", "allOf"} {
		if rawjson.Find(fields, need) != nil {
			return true
		}
	}
	return false
}

// endsReference reports whether a reference leads to a definition of the root that does
// not contain itself.
func (w *schemaWriter) endsReference(ref json.RawMessage) bool {
	var text string
	_ = json.Unmarshal(ref, &text) // other values lead nowhere
	path, within := strings.CutPrefix(text, "#/")
	if !within {
		return false
	}
	if ends, known := w.ends[path]; known {
		return ends
	}
	definition := w.definitions[path]
	w.ends[path] = false // while it is being followed
	w.ends[path] = definition != nil && w.endReferences(definition)
	return w.ends[path]
}

// endReferences reports whether all references in a value end.
func (w *schemaWriter) endReferences(raw json.RawMessage) bool {
	if fields, ok := rawjson.Members(raw); ok {
		return !slices.ContainsFunc(fields, func(f rawjson.Member) bool {
			return f.Name == "$ref" && !w.endsReference(f.Value) || !w.endReferences(f.Value)
		})
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // other values contain no references
	return !slices.ContainsFunc(list, func(item json.RawMessage) bool { return !w.endReferences(item) })
}

func (w *schemaWriter) isKept(f rawjson.Member) bool {
	switch f.Name {
	case "format":
		return slices.Contains(keptFormats, string(f.Value))
	case "minItems":
		return string(f.Value) == "0" || string(f.Value) == "1"
	default:
		return slices.Contains(keptKeywords, f.Name)
	}
}

// writeNested writes a keyword whose value contains schemas. An answer that matches exactly one
// alternative matches any.
func (w *schemaWriter) writeNested(f rawjson.Member, depth int) bool {
	name := f.Name
	if name == "oneOf" {
		name = "anyOf"
	}
	w.out.WriteName(name)
	write := func(schema json.RawMessage) bool { return w.writeSchema(schema, depth+1) }
	switch name {
	case "properties", "$defs", "definitions":
		return w.out.WriteMembers(f.Value, write)
	case "items":
		return write(f.Value)
	case "anyOf", "allOf":
		return w.out.WriteElements(f.Value, write)
	default:
		return false
	}
}

// writeDescription writes the description with the limits that the subset lacks.
func (w *schemaWriter) writeDescription(raw json.RawMessage, told []string) {
	var text string
	_ = json.Unmarshal(raw, &text) // other values describe nothing
	if len(told) > 0 {
		text = strings.TrimSpace(text + " {" + strings.Join(told, ", ") + "}")
	}
	if text == "" {
		return
	}
	quoted, _ := json.Marshal(text) // a text always encodes
	w.out.WriteName("description")
	w.out.Write(quoted)
}
