package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Object is a JSON object in a description, such as a schema.
type Object = map[string]any

// Component describes a Go type. Types without a component are described by their fields.
type Component struct {
	// Of is a value of the type; nil if the Schema is of no type.
	Of any
	// Name is the name of the schema in the document; empty repeats the schema where it is used.
	Name string
	Doc  string
	// Schema replaces the schema of the type, and More adds keywords to it.
	Schema, More Object
}

// Ref returns a reference to the schema of a component.
func Ref(name string) Object { return Object{refKey: schemaPath + name} }

// Parse returns a JSON object, which must be valid.
func Parse(text string) (object Object) {
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(fmt.Sprintf("openapi: %v in %s", err, text))
	}
	return object
}

const (
	refKey     = "$ref"
	schemaPath = "#/components/schemas/"
)

// typeSchemas makes the schemas of Go types. Fields are required unless they are omitted when empty, and
// pointers may be null unless they are. These tags of a field add to its schema: jsonschema is its
// description, ref the component that replaces its type, and the others are keywords.
type typeSchemas struct {
	components map[reflect.Type]*Component
	// named are the schemas of the components with a name.
	named Object
}

// The keywords of fields: texts, JSON, values of the field's type, and lists of them.
var (
	textKeywords  = []string{"type", "pattern", "format", "contentEncoding"}
	jsonKeywords  = []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "propertyNames", "additionalProperties", "oneOf"}
	valueKeywords = []string{"const", "default"}
	listKeywords  = []string{"enum", "examples"}
)

func newTypeSchemas(components []Component) *typeSchemas {
	s := &typeSchemas{components: map[reflect.Type]*Component{}, named: Object{}}
	for i := range components {
		if c := &components[i]; c.Of != nil {
			s.components[reflect.TypeOf(c.Of)] = c
		} else {
			s.named[c.Name] = s.described(c, nil)
		}
	}
	for t := range s.components {
		s.schemaOf(t)
	}
	return s
}

// schemaOf returns the schema of a type.
func (s *typeSchemas) schemaOf(t reflect.Type) Object {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	c := s.components[t]
	switch {
	case c == nil:
		return s.plain(t)
	case c.Name == "":
		return s.described(c, t)
	case s.named[c.Name] == nil:
		s.named[c.Name] = Object{} // ends cycles
		s.named[c.Name] = s.described(c, t)
	}
	return Ref(c.Name)
}

// described returns the schema of a component with a type, which may be nil.
func (s *typeSchemas) described(c *Component, t reflect.Type) Object {
	schema := Object{}
	if c.Schema != nil {
		merge(schema, c.Schema)
	} else if t != nil {
		schema = s.plain(t)
	}
	merge(schema, c.More)
	if c.Doc != "" {
		schema["description"] = c.Doc
	}
	return schema
}

// merge copies the keywords of a schema into another, also below keywords that both have.
func merge(into, from Object) {
	for key, value := range from {
		inner, ok := value.(Object)
		if known, both := into[key].(Object); ok && both {
			merge(known, inner)
			continue
		}
		into[key] = value
	}
}

// plain returns the schema of a type from its fields and elements.
func (s *typeSchemas) plain(t reflect.Type) Object {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return Object{}
	case t == reflect.TypeFor[time.Time]():
		return Object{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return Object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Object{"type": "string", "contentEncoding": "base64"}
		}
		return Object{"type": "array", "items": s.schemaOf(t.Elem())}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.schemaOf(t.Elem())}
	case reflect.Struct:
		schema := Object{"type": "object"}
		s.addFields(schema, t)
		return schema
	case reflect.Interface:
		return Object{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Object{"type": "integer", "minimum": 0}
	default:
		return Object{"type": "integer"}
	}
}

// addFields adds the fields of a struct to the schema of an object.
func (s *typeSchemas) addFields(schema Object, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			if c := s.components[field.Type]; c == nil || c.Name == "" {
				s.addFields(schema, field.Type)
				continue
			}
			all, _ := schema["allOf"].([]any)
			schema["allOf"] = append(all, s.schemaOf(field.Type))
		case !field.IsExported() || name == "-":
		default:
			name = cmp.Or(name, field.Name)
			optional := strings.Contains(options, "omit")
			properties, _ := schema["properties"].(Object)
			if properties == nil {
				properties = Object{}
				schema["properties"] = properties
			}
			properties[name] = s.fieldSchema(&field, !optional && field.Type.Kind() == reflect.Pointer)
			if required, _ := schema["required"].([]string); !optional && !slices.Contains(required, name) {
				schema["required"] = append(required, name)
			}
		}
	}
}

// fieldSchema returns the schema of a field with its tags.
func (s *typeSchemas) fieldSchema(field *reflect.StructField, nullable bool) Object {
	schema, tags := s.schemaOf(field.Type), s.tagSchema(field)
	if name, ok := field.Tag.Lookup("ref"); ok {
		schema = Ref(name)
	} else if nullable {
		if kind, ok := schema["type"].(string); ok {
			schema["type"] = []string{kind, "null"}
		} else if len(schema) > 0 {
			schema = Object{"oneOf": []any{schema, Object{"type": "null"}}}
		}
	}
	if schema[refKey] != nil && len(tags) > 0 { // it allows no other keywords
		schema = Object{"allOf": []any{schema}}
	}
	merge(schema, tags)
	return schema
}

// tagSchema returns the keywords in the tags of a field.
func (*typeSchemas) tagSchema(field *reflect.StructField) Object {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	fromText := func(word string) any { return word }
	fromJSON := func(word string) any { return json.RawMessage(word) }
	fromValue := fromJSON
	if t.Kind() == reflect.String {
		fromValue = fromText
	}
	tags := Object{}
	read := func(read func(word string) any, keys ...string) {
		for _, key := range keys {
			if value, ok := field.Tag.Lookup(key); ok {
				tags[key] = read(value)
			}
		}
	}
	read(fromText, textKeywords...)
	read(fromJSON, jsonKeywords...)
	read(fromValue, valueKeywords...)
	read(func(words string) any {
		var list []any
		for word := range strings.SplitSeq(words, ",") {
			list = append(list, fromValue(word))
		}
		return list
	}, listKeywords...)
	if doc, ok := field.Tag.Lookup("jsonschema"); ok {
		tags["description"] = doc
	}
	return tags
}
