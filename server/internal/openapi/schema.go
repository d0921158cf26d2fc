package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// generator generates a description.
type generator struct {
	*Surface
	// schemas are the components, and media is the media type of errors.
	schemas Object
	media   string
	// components describe types in other words.
	components map[reflect.Type]*Component
}

// schemaOf returns the schema of a type. A type without one is described as any value.
func (g *generator) schemaOf(t reflect.Type) Object {
	t = g.viewOf(t)
	if c := g.components[t]; c != nil {
		return g.componentOf(c, t)
	}
	return g.plainSchema(t)
}

// plainSchema returns the schema of a type by its kind.
func (g *generator) plainSchema(t reflect.Type) Object {
	if t.Kind() == reflect.Pointer {
		s := g.schemaOf(t.Elem())
		if kind, ok := s["type"].(string); ok && g.Package == "" {
			s["type"] = []string{"null", kind}
		}
		return s
	}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return Object{}
	case reflect.TypeFor[time.Time]():
		if g.Package == "" {
			return Object{"type": "string"}
		}
		return Object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Object{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": nested(g.schemaOf(t.Elem()))}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && g.Package != "" {
			return Object{"type": "string", "contentEncoding": "base64"}
		}
		s := Object{"type": "array", "items": nested(g.schemaOf(t.Elem()))}
		if g.Package == "" {
			s["type"] = []string{"null", "array"}
		}
		return s
	case reflect.Struct:
		return g.structRef(t)
	default:
		return Object{}
	}
}

// nested returns a schema within another one.
func nested(s Object) any {
	if len(s) == 0 {
		return true
	}
	return s
}

// viewOf returns the type that describes a type.
func (g *generator) viewOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer && g.Package != "" {
		t = t.Elem()
	}
	if view := g.Views[t]; view != nil {
		return view
	}
	return t
}

// structRef returns the schema of a struct: a reference if it is in the surface's package. A
// component omits the suffix View of its type.
func (g *generator) structRef(t reflect.Type) Object {
	if t.Name() == "" || t.PkgPath() != g.Package || strings.Contains(t.Name(), "[") {
		return g.structOf(t)
	}
	name := strings.ToUpper(t.Name()[:1]) + strings.TrimSuffix(t.Name()[1:], "View")
	if g.schemas[name] == nil {
		g.schemas[name] = Object{} // for a type within itself
		g.schemas[name] = g.structOf(t)
	}
	return Ref(name)
}

// structOf returns the schema of a struct. The tags of its field _ are keywords of the schema.
func (g *generator) structOf(t reflect.Type) Object {
	properties, required := Object{}, []string{}
	s := Object{"type": "object"}
	if !g.Open && (g.Package == "" || t.PkgPath() == g.Package || t.Name() == "") { // others may grow
		s["additionalProperties"] = false
	}
	var whole []any
	var within []int // the index of an embedded struct that is described as a whole
	for _, f := range reflect.VisibleFields(t) {
		if f.Name == "_" {
			g.addKeywords(s, f.Tag)
		}
		if within != nil && len(f.Index) > len(within) && slices.Equal(f.Index[:len(within)], within) {
			continue
		}
		if c := g.components[f.Type]; f.Anonymous && c != nil && c.Name != "" {
			whole, within = append(whole, g.schemaOf(f.Type)), f.Index
		}
		name := nameOf(&f)
		if name == "" {
			continue
		}
		if properties[name] = nested(g.fieldOf(&f)); !strings.Contains(f.Tag.Get("json"), ",omit") && f.Tag.Get("optional") == "" && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(properties) > 0 || !g.Open {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
	if whole != nil {
		s["allOf"] = whole
	}
	return s
}

// nameOf returns the name of a field in JSON; empty if it has none.
func nameOf(f *reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case f.Anonymous, !f.IsExported(), name == "-":
		return ""
	case name == "":
		return f.Name
	default:
		return name
	}
}

// fieldOf returns the schema of a field: that of its type, with its description and keywords.
func (g *generator) fieldOf(f *reflect.StructField) Object {
	var s Object
	switch _, query := f.Tag.Lookup("query"); {
	case f.Tag.Get("ref") != "":
		s = Ref(f.Tag.Get("ref"))
	case f.Tag.Get("type") != "" && g.Package != "":
		s = Object{}
	case f.Tag.Get("items") != "" && g.Package != "":
		s = Object{"type": "array"}
	case query && f.Type.Kind() == reflect.Map:
		s = Object{"type": "array", "items": Object{"type": "string"}}
	default:
		s = g.schemaOf(f.Type)
	}
	null := f.Tag.Get("null") != "" && g.Package != ""
	if ref := s[refKey]; ref != nil && null {
		s, null = orNull(s), false
	} else if ref != nil && f.Tag.Get("jsonschema") != "" { // it allows no other keywords
		s = Object{"allOf": []Object{s}}
	}
	g.addKeywords(s, f.Tag)
	if null {
		return orNull(s)
	}
	return s
}

// orNull returns the schema of a value that may be null.
func orNull(s Object) Object {
	if kind, ok := s["type"].(string); ok {
		s["type"] = []string{kind, "null"}
		return s
	}
	return Object{"oneOf": []Object{s, {"type": "null"}}}
}

// keywords are the keywords of schemas whose values are tags: JSON with single quotes, or text.
var keywords = []string{
	"type", "const", "format", "default", "examples", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "items", "additionalProperties",
	"propertyNames", "oneOf",
}

// addKeywords adds the description and the keywords in the tags of a field. The tags enum, a list
// with commas, and pattern belong to the items of a list.
func (g *generator) addKeywords(s Object, tag reflect.StructTag) {
	if about := tag.Get("jsonschema"); about != "" {
		s["description"] = about
	}
	if g.Package == "" {
		return
	}
	one := s
	if items, ok := s["items"].(Object); ok {
		one = items
	}
	if words := tag.Get("enum"); words != "" {
		one["enum"] = strings.Split(words, ",")
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		one["pattern"] = pattern
	}
	for _, name := range keywords {
		if text, ok := tag.Lookup(name); ok {
			var value any
			if json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &value) != nil {
				value = text
			}
			s[name] = value
		}
	}
}
