package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/rawjson"
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
	members, _ := rawjson.Members(raw)
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
		switch m.Name {
		case "properties":
			properties, _ := rawjson.Members(m.Value)
			for _, p := range properties {
				if found, ok := findShorthand(p.Value, append(at(m.Name), p.Name)); ok {
					return found, true
				}
			}
		case "items":
			if found, ok := findShorthand(m.Value, at(m.Name)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// firstField returns the first member that names a field: a member that is not a keyword, in a
// schema that declares fields in no other way. In a whole schema without keywords, all members name
// fields.
func firstField(members []rawjson.Member, whole bool) (string, bool) {
	typed, composed, known := false, false, false
	for _, m := range members {
		typed = typed || m.Name == "type"
		composed = composed || slices.Contains(composing, m.Name)
		known = known || isKeyword(m.Name)
	}
	for _, m := range members {
		switch {
		case isKeyword(m.Name):
		case whole && !known, (!typed || !composed) && typeNamed(m.Value) != "", !composed && isFieldSchema(m.Value):
			return m.Name, true
		}
	}
	return "", false
}

// suggestSchema returns the intended schema.
func suggestSchema(members []rawjson.Member, first string) string {
	const most = 3
	for _, m := range members {
		if _, near := nearest.Of(m.Name, []string{"type"}); near && m.Name == first && typeNamed(m.Value) != "" {
			return "type: " + typeNamed(m.Value)
		}
	}
	var fields []string
	for _, m := range members {
		named := typeNamed(m.Value)
		if m.Name == "type" || isKeyword(m.Name) && named == "" {
			continue
		}
		text := "{…}"
		if named != "" {
			text = "{type: " + named + "}"
		}
		fields = append(fields, yamlName(m.Name)+": "+text)
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
	members, _ := rawjson.Members(raw)
	for _, m := range members {
		switch m.Name {
		case "type":
			if typeNamed(m.Value) != "" || len(m.Value) > 0 && m.Value[0] == '[' {
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
