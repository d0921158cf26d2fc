package openapitest

import "strings"

// closer disallows undescribed fields in objects with described ones.
type closer struct{ root any }

// closeSchemas closes the objects in the schemas of a part of a document.
func (c *closer) closeSchemas(part any) {
	switch v := part.(type) {
	case []any:
		for i := range v {
			c.closeSchemas(v[i])
		}
	case map[string]any:
		for key, value := range v {
			if key == "schema" {
				c.closeSite(value)
			}
			if key == "schemas" {
				for _, component := range fieldsOf(value) {
					c.closeInside(component)
				}
				continue
			}
			if key != "example" && key != "examples" {
				c.closeSchemas(value)
			}
		}
	}
}

// closeSite closes the schema of a value: its fields must be described by the schema or any part of
// it.
func (c *closer) closeSite(schema any) {
	s := fieldsOf(schema)
	if s == nil {
		return
	}
	_, additional := s["additionalProperties"]
	_, unevaluated := s["unevaluatedProperties"]
	if !additional && !unevaluated && c.listsFields(s, 0) {
		s["unevaluatedProperties"] = false
	}
	c.closeInside(s)
}

// closeInside closes the schemas of the values in a value.
func (c *closer) closeInside(schema any) {
	s := fieldsOf(schema)
	for _, key := range []string{"items", "additionalProperties", "contains"} {
		c.closeSite(s[key])
	}
	for _, property := range fieldsOf(s["properties"]) {
		c.closeSite(property)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[key].([]any)
		for i := range parts {
			c.closeInside(parts[i])
		}
	}
}

// listsFields reports whether a schema lists its fields, itself or in a part.
func (c *closer) listsFields(s map[string]any, depth int) bool {
	const deepest = 8
	if s == nil || depth > deepest {
		return false
	}
	if _, ok := s["properties"]; ok {
		return true
	}
	if ref, ok := s["$ref"].(string); ok && c.listsFields(c.resolveRef(ref), depth+1) {
		return true
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[key].([]any)
		for i := range parts {
			if c.listsFields(fieldsOf(parts[i]), depth+1) {
				return true
			}
		}
	}
	return false
}

func (c *closer) resolveRef(ref string) map[string]any {
	value := c.root
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		value = fieldsOf(value)[unescapeKey(key)]
	}
	return fieldsOf(value)
}

func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

func escapeKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func unescapeKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
}
