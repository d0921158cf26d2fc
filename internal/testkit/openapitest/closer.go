package openapitest

import "strings"

// closer makes objects whose fields are described have no others.
type closer struct{ root any }

// close closes the objects in the schemas of a part of a document.
func (c *closer) close(part any) {
	switch v := part.(type) {
	case []any:
		for i := range v {
			c.close(v[i])
		}
	case map[string]any:
		for key, value := range v {
			if key == "schema" {
				c.site(value)
			}
			if key == "schemas" {
				for _, component := range fieldsOf(value) {
					c.inside(component)
				}
				continue
			}
			if key != "example" && key != "examples" {
				c.close(value)
			}
		}
	}
}

// site closes the schema of a value, whose fields must be among those that it or
// any part of it describes.
func (c *closer) site(schema any) {
	s := fieldsOf(schema)
	if s == nil {
		return
	}
	_, additional := s["additionalProperties"]
	_, unevaluated := s["unevaluatedProperties"]
	if !additional && !unevaluated && c.lists(s, 0) {
		s["unevaluatedProperties"] = false
	}
	c.inside(s)
}

// inside closes the schemas of the values in a value.
func (c *closer) inside(schema any) {
	s := fieldsOf(schema)
	for _, key := range []string{"items", "additionalProperties", "contains"} {
		c.site(s[key])
	}
	for _, property := range fieldsOf(s["properties"]) {
		c.site(property)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[key].([]any)
		for i := range parts {
			c.inside(parts[i])
		}
	}
}

// lists reports whether a schema says what fields there are, itself or in a part.
func (c *closer) lists(s map[string]any, depth int) bool {
	const deepest = 8
	if s == nil || depth > deepest {
		return false
	}
	if _, ok := s["properties"]; ok {
		return true
	}
	if ref, ok := s["$ref"].(string); ok && c.lists(c.referred(ref), depth+1) {
		return true
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[key].([]any)
		for i := range parts {
			if c.lists(fieldsOf(parts[i]), depth+1) {
				return true
			}
		}
	}
	return false
}

func (c *closer) referred(ref string) map[string]any {
	value := c.root
	for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		value = fieldsOf(value)[unescaped(key)]
	}
	return fieldsOf(value)
}
