package config

import (
	"encoding/json"
	"reflect"

	jsonschema "github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
)

// propertySchema returns the schema of a field.
func (w *schemaWriter) propertySchema(r *record, f *field) object {
	schema := object{}.withText("description", f.doc)
	if f.secret {
		schema = schema.with("writeOnly", true)
	}
	if f.byDefault != "" {
		schema = schema.with("default", typedDefault(f))
	}
	var value object
	if f.name == "sections" && (r.typ == defaultsType || r.typ == agentType) {
		value = w.sectionsOf()
	} else {
		value = w.valueSchema(f, f.typ)
	}
	if f.required && !w.patch {
		switch shapeOf(f.typ) {
		case textShape:
			value = value.with("minLength", 1)
		case rawShape, anyShape, customShape:
			value = object{{"not", object{{"type", "null"}}}}
		}
		return append(schema, value...)
	}
	return orNull(append(schema, value...))
}

// typedDefault returns the default of a field in the field's type.
func typedDefault(f *field) any {
	t := f.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch shapeOf(t) {
	case boolShape, intShape, uintShape, floatShape:
		if json.Valid([]byte(f.byDefault)) {
			return json.RawMessage(f.byDefault)
		}
	}
	return f.byDefault
}

// valueSchema returns the schema of values of a type.
func (w *schemaWriter) valueSchema(f *field, t reflect.Type) object {
	switch shapeOf(t) {
	case textShape:
		return textSchema(f)
	case boolShape:
		return object{{"type", "boolean"}}
	case intShape, uintShape:
		return integerSchema(f, t)
	case floatShape:
		return withLimits(object{{"type", "number"}}, "minimum", "maximum", f)
	case durationShape:
		return object{{"type", "string"}, {"pattern", jsonschema.DurationPattern + "|" + reference}}
	case promptShape:
		return object{{"anyOf", []any{object{{"type", "string"}}, w.recordRef(reflect.TypeFor[promptFile]())}}}
	case namesShape:
		return object{{"type", []string{"array", "null"}}, {"items", textSchema(f.elementField())}}
	case effortShape:
		return object{{"anyOf", []any{choiceSchema(spec.EffortLevels()), object{{"type", "integer"}, {"minimum", 0}, {"maximum", 100}}, w.recordRef(reflect.TypeFor[effortBudget]())}}}
	case textualShape:
		return object{{"type", "string"}}
	case pointerShape:
		return w.valueSchema(f, t.Elem())
	case listShape:
		list := withLimits(object{{"type", "array"}}, "minItems", "maxItems", f)
		return list.with("items", w.wholeSchema(f.elementField(), t.Elem()))
	case mapShape:
		element := w.valueSchema(f.elementField(), t.Elem())
		if w.patch {
			element = orNull(element)
		}
		schema := object{{"type", "object"}, {"additionalProperties", element}}
		if f.keys != "" {
			schema = schema.with("propertyNames", object{{"pattern", f.keys}})
		}
		return schema
	case recordShape:
		return w.recordRef(t)
	case unsupportedShape:
		return object{{"not", object{}}}
	default:
		return object{}
	}
}

func textSchema(f *field) object {
	switch {
	case len(f.enum) > 0:
		return choiceSchema(f.enum)
	case len(f.leftOut) > 0:
		return object{{"not", object{}}}
	case f.pattern != nil:
		return object{{"type", "string"}, {"pattern", "(?:" + f.pattern.String() + ")|" + reference}}
	default:
		return object{{"type", "string"}}
	}
}

// choiceSchema returns the schema of a choice among texts.
func choiceSchema(values []string) object {
	return object{{"anyOf", []any{
		object{{"enum", values}},
		object{{"type", "string"}, {"pattern", reference}},
	}}}
}

// integerSchema returns the schema of a whole number, with the limits of small
// types.
func integerSchema(f *field, t reflect.Type) object {
	schema := withLimits(object{{"type", "integer"}}, "minimum", "maximum", f)
	unsigned := shapeOf(t) == uintShape
	bits := t.Bits()
	if !schema.has("minimum") {
		switch {
		case unsigned:
			schema = schema.with("minimum", 0)
		case bits < 64:
			schema = schema.with("minimum", -(int64(1) << (bits - 1)))
		}
	}
	if !schema.has("maximum") && bits < 64 {
		if !unsigned {
			bits--
		}
		schema = schema.with("maximum", int64(1)<<bits-1)
	}
	return schema
}

func withLimits(schema object, least, most string, f *field) object {
	if f.min != nil {
		schema = schema.with(least, json.RawMessage(formatNumber(*f.min)))
	}
	if f.max != nil {
		schema = schema.with(most, json.RawMessage(formatNumber(*f.max)))
	}
	return schema
}

// orNull also allows null.
func orNull(schema object) object {
	var value, notes object
	for _, m := range schema {
		if m.name == "description" || m.name == "default" || m.name == "writeOnly" {
			notes = append(notes, m)
		} else {
			value = append(value, m)
		}
	}
	null := object{{"type", "null"}}
	if len(value) == 0 {
		return schema
	}
	switch first := value[0]; {
	case first.name == "anyOf" && len(value) == 1:
		if list, ok := first.value.([]any); ok {
			return notes.with("anyOf", append(list, null))
		}
	case first.name == "type":
		if name, ok := first.value.(string); ok {
			value[0].value = []string{name, "null"}
		}
		return append(notes, value...)
	}
	return notes.with("anyOf", []any{value, null})
}
