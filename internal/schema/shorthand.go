package schema

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/nearest"
)

// Shorthand is a part of a schema with field names in place of keywords, as in {text: string}. JSON
// Schema ignores it.
type Shorthand struct {
	// Path is the path of the first such field.
	Path []string
	// Of is the name of the described part; empty for the whole schema.
	Of string
	// Remedy is the intended part, as YAML, or its type.
	Remedy string
}

// maxNested limits the depth to which a schema is searched for a shorthand.
const maxNested = 8

// FindShorthand returns the first shorthand in a schema, and whether there is one.
// Unknown keywords with another meaning do not count.
func FindShorthand(raw json.RawMessage) (*Shorthand, bool) { return findShorthand(raw, nil) }

func findShorthand(raw json.RawMessage, path []string) (*Shorthand, bool) {
	members := membersOf(raw)
	if len(members) == 0 || len(path) > 2*maxNested {
		return nil, false
	}
	at := func(name string) []string { return append(slices.Clip(path), name) }
	if first, ok := firstField(members, len(path) == 0); ok {
		of := ""
		if len(path) > 0 {
			of = path[len(path)-1]
		}
		return &Shorthand{Path: at(first), Of: of, Remedy: suggestSchema(members, first)}, true
	}
	for _, m := range members {
		switch m.name {
		case "properties":
			for _, p := range membersOf(m.value) {
				if found, ok := findShorthand(p.value, append(at(m.name), p.name)); ok {
					return found, true
				}
			}
		case "items":
			if found, ok := findShorthand(m.value, at(m.name)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// member is a member of an object; members are in written order.
type member struct {
	name  string
	value json.RawMessage
}

func membersOf(raw json.RawMessage) []member {
	in := json.NewDecoder(bytes.NewReader(raw))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	var members []member
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil
		}
		m := member{}
		m.name, _ = name.(string)
		if in.Decode(&m.value) != nil {
			return nil
		}
		members = append(members, m)
	}
	return members
}

// firstField returns the first member that names a field: a member that is not a keyword, in a
// schema that declares fields in no other way. In a whole schema without keywords, all members name
// fields.
func firstField(members []member, whole bool) (string, bool) {
	typed, composed, known := false, false, false
	for _, m := range members {
		typed = typed || m.name == "type"
		composed = composed || slices.Contains(composing, m.name)
		known = known || isKeyword(m.name)
	}
	for _, m := range members {
		switch {
		case isKeyword(m.name):
		case whole && !known, (!typed || !composed) && typeNamed(m.value) != "", !composed && isFieldSchema(m.value):
			return m.name, true
		}
	}
	return "", false
}

// suggestSchema returns the intended schema.
func suggestSchema(members []member, first string) string {
	const most = 3
	for _, m := range members {
		if _, near := nearest.Of(m.name, []string{"type"}); near && m.name == first && typeNamed(m.value) != "" {
			return "type: " + typeNamed(m.value)
		}
	}
	var fields []string
	for _, m := range members {
		named := typeNamed(m.value)
		if m.name == "type" || isKeyword(m.name) && named == "" {
			continue
		}
		text := "{…}"
		if named != "" {
			text = "{type: " + named + "}"
		}
		fields = append(fields, yamlName(m.name)+": "+text)
	}
	if len(fields) > most {
		fields = append(fields[:most], "…")
	}
	return "{type: object, properties: {" + strings.Join(fields, ", ") + "}}"
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// yamlName formats a name as YAML.
func yamlName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(clipDigits(name))
}

// typeNames are the types, with their names in other languages.
var typeNames = map[string]string{
	"string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "object": "object", "array": "array", "null": "null",
	"str": "string", "text": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean", "dict": "object", "list": "array",
}

// typeNamed returns the type that a value names; empty if none.
func typeNamed(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return typeNames[text]
}

// isFieldSchema reports whether a value is a schema of a field.
func isFieldSchema(raw json.RawMessage) bool {
	for _, m := range membersOf(raw) {
		switch m.name {
		case "type":
			if typeNamed(m.value) != "" || len(m.value) > 0 && m.value[0] == '[' {
				return true
			}
		case "enum", "$ref", "anyOf", "oneOf":
			return true
		}
	}
	return false
}

// composing are the keywords that determine which fields an object may have.
var composing = []string{
	"properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties", "$ref", "$dynamicRef", "$recursiveRef",
	"allOf", "anyOf", "oneOf", "not", "if", "enum", "const", "dependentSchemas",
}

// keywords are the keywords of all drafts and of OpenAPI.
var keywords = strings.Fields(`
$schema $id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment $defs id definitions
type enum const title description default example examples deprecated readOnly writeOnly nullable discriminator xml externalDocs
properties patternProperties additionalProperties propertyNames unevaluatedProperties required dependentRequired dependentSchemas
dependencies minProperties maxProperties
items prefixItems additionalItems unevaluatedItems contains minContains maxContains minItems maxItems uniqueItems
minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format
contentEncoding contentMediaType contentSchema allOf anyOf oneOf not if then else`)

// isKeyword reports whether a name is meaningful in a schema, or is an extension.
func isKeyword(name string) bool {
	return slices.Contains(keywords, name) || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "$")
}
