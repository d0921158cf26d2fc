package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
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
func Ref(name string) Object { return Object{refKey: "#/components/schemas/" + name} }

const refKey = "$ref"

// Parse returns a JSON object, which must be valid.
func Parse(text string) (object Object) {
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(fmt.Sprintf("openapi: %v in %s", err, text))
	}
	return object
}

// addComponents adds components, all of which become part of the document.
func (g *generator) addComponents(components []Component) {
	g.components = map[reflect.Type]*Component{}
	for i := range components {
		if c := &components[i]; c.Of != nil {
			g.components[reflect.TypeOf(c.Of)] = c
		} else {
			g.schemas[c.Name] = g.describeComponent(c, nil)
		}
	}
	for t := range g.components {
		g.schemaOf(t)
	}
}

// componentOf returns the schema of a type with a component.
func (g *generator) componentOf(c *Component, t reflect.Type) Object {
	if c.Name == "" {
		return g.describeComponent(c, t)
	}
	if g.schemas[c.Name] == nil {
		g.schemas[c.Name] = Object{} // for a type within itself
		g.schemas[c.Name] = g.describeComponent(c, t)
	}
	return Ref(c.Name)
}

// describeComponent returns the schema of a component with a type, which may be nil.
func (g *generator) describeComponent(c *Component, t reflect.Type) Object {
	schema := Object{}
	if c.Schema != nil {
		merge(schema, c.Schema)
	} else if t != nil {
		schema = g.plainSchema(t)
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
