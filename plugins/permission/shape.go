package permission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// shape describes a value according to a JSON Schema. It never assumes more than the schema states:
// for combined schemas or unknown keywords, anything is possible.
type shape struct {
	root   map[string]any
	schema map[string]any
	// open is set if nothing is known.
	open bool
}

var anything = shape{open: true}

func newShape(raw json.RawMessage) shape {
	var root map[string]any
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return anything
	}
	return shape{root: root}.subshape(root)
}

// combining are the keywords whose schemas apply in addition to their parent, and may be more
// specific.
var combining = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef", "$anchor", "$id"}

// subshape returns the shape that a schema in the same document describes.
func (s shape) subshape(v any) shape {
	const maxReferences = 16
	for range maxReferences {
		schema, ok := v.(map[string]any)
		if !ok {
			return anything
		}
		for _, key := range combining {
			if _, has := schema[key]; has && (key != "$id" || !isRoot(schema, s.root)) {
				return anything
			}
		}
		ref, referring := schema["$ref"].(string)
		if !referring {
			return shape{root: s.root, schema: schema}
		}
		for key := range schema {
			if !slices.Contains([]string{"$ref", "description", "title", "default", "examples"}, key) {
				return anything
			}
		}
		if v, ok = s.resolveRef(ref); !ok {
			return anything
		}
	}
	return anything
}

func isRoot(schema, root map[string]any) bool {
	return len(schema) == len(root) && schema["$id"] == root["$id"]
}

// resolveRef resolves a reference within the document, given as a JSON Pointer.
func (s shape) resolveRef(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.Contains(pointer, "%") || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	var v any = s.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		object, _ := v.(map[string]any)
		if v, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return nil, false
		}
	}
	return v, true
}

// followStep returns the shape after a step, and false if the schema expects nothing there.
func (s shape) followStep(at step) (shape, bool) {
	if s.open {
		return anything, true
	}
	switch at.kind {
	case toAnyKey:
		return anything, s.allowsType("object")
	case toAnyElement, toElement:
		if !s.allowsType("array") {
			return anything, false
		}
		if _, tuple := s.schema["prefixItems"]; tuple {
			return anything, true
		}
		return s.subshape(s.schema["items"]), true
	}
	if !s.allowsType("object") {
		return anything, false
	}
	properties, _ := s.schema["properties"].(map[string]any)
	if property, ok := properties[at.key]; ok {
		return s.subshape(property), true
	}
	if s.isClosed() {
		return anything, false
	}
	// Unlisted keys are expected when none are listed, or when the schema describes their values.
	if _, described := s.schema["additionalProperties"].(map[string]any); described {
		return s.subshape(s.schema["additionalProperties"]), true
	}
	_, patterns := s.schema["patternProperties"]
	return anything, len(properties) == 0 || patterns
}

// isClosed reports whether the schema rejects unlisted keys.
func (s shape) isClosed() bool {
	if s.open {
		return false
	}
	if !s.allowsType("object") {
		return true
	}
	_, patterns := s.schema["patternProperties"]
	return !patterns && (s.schema["additionalProperties"] == false || s.schema["unevaluatedProperties"] == false)
}

// propertyNames returns the keys listed by the schema.
func (s shape) propertyNames() []string {
	properties, _ := s.schema["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

func (s shape) allowsType(kind string) bool {
	types := s.allowedTypes()
	return types == nil || slices.Contains(types, kind)
}

// allowedTypes returns the types that the value may have; nil for any.
func (s shape) allowedTypes() []string {
	if s.open {
		return nil
	}
	switch t := s.schema["type"].(type) {
	case string:
		return []string{t}
	case []any:
		types := make([]string, 0, len(t))
		for _, v := range t {
			if text, ok := v.(string); ok {
				types = append(types, text)
			}
		}
		return types
	default:
		return s.enumTypes()
	}
}

// enumTypes returns the types of the values listed by the schema.
func (s shape) enumTypes() []string {
	var types []string
	for _, v := range s.allowedValues() {
		kind := "null"
		switch v.(type) {
		case string:
			kind = "string"
		case float64:
			kind = "number"
		case bool:
			kind = "boolean"
		case []any:
			kind = "array"
		case map[string]any:
			kind = "object"
		}
		if !slices.Contains(types, kind) {
			types = append(types, kind)
		}
	}
	return types
}

// allowedTexts returns the only texts allowed for the value; nil if other values are possible.
func (s shape) allowedTexts() []string {
	var texts []string
	for _, v := range s.allowedValues() {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// allowedValues returns the values that the schema lists.
func (s shape) allowedValues() []any {
	if value, ok := s.schema["const"]; ok {
		return []any{value}
	}
	values, _ := s.schema["enum"].([]any)
	return values
}
