package describe

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	jsonschema "github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/spec"
)

// reference matches texts with a variable. A schema cannot know their values, so it allows them
// wherever it allows text.
const reference = `\$\{`

// propertySchema returns the schema of a field.
func (w *schemaWriter) propertySchema(r *record.Type, f *record.Field) object {
	schema := object{}.withText("description", f.Doc)
	if f.Secret {
		schema = schema.with("writeOnly", true)
	}
	if f.Default != "" {
		schema = schema.with("default", typedDefault(f))
	}
	var value object
	if f.Name == "sections" && (r.Go == keys.DefaultsType || r.Go == keys.AgentType) {
		value = w.sectionsOf()
	} else {
		value = w.valueSchema(f, f.Type)
	}
	if f.Required && !w.patch {
		switch record.ShapeOf(f.Type) {
		case record.TextShape:
			value = value.with("minLength", 1)
		case record.RawShape, record.AnyShape, record.CustomShape:
			value = object{{"not", object{{"type", "null"}}}}
		}
		return append(schema, value...)
	}
	return orNull(append(schema, value...))
}

// typedDefault returns the default of a field in the field's type.
func typedDefault(f *record.Field) any {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch record.ShapeOf(t) {
	case record.BoolShape, record.IntShape, record.UintShape, record.FloatShape:
		if json.Valid([]byte(f.Default)) {
			return json.RawMessage(f.Default)
		}
	}
	return f.Default
}

// valueSchema returns the schema of values of a type.
func (w *schemaWriter) valueSchema(f *record.Field, t reflect.Type) object {
	switch record.ShapeOf(t) {
	case record.TextShape:
		return textSchema(f)
	case record.BoolShape:
		return object{{"type", "boolean"}}
	case record.IntShape, record.UintShape:
		return integerSchema(f, t)
	case record.FloatShape:
		return withLimits(object{{"type", "number"}}, "minimum", "maximum", f)
	case record.DurationShape:
		return object{{"type", "string"}, {"pattern", jsonschema.DurationPattern + "|" + reference}}
	case record.PromptShape:
		return object{{"anyOf", []any{object{{"type", "string"}}, w.recordRef(reflect.TypeFor[record.PromptFile]())}}}
	case record.NamesShape:
		return object{{"type", []string{"array", "null"}}, {"items", textSchema(f.Element())}}
	case record.EffortShape:
		return object{{"anyOf", []any{choiceSchema(spec.EffortLevels()), object{{"type", "integer"}, {"minimum", 0}, {"maximum", 100}}, w.recordRef(reflect.TypeFor[record.EffortBudget]())}}}
	case record.TextualShape:
		return object{{"type", "string"}}
	case record.PointerShape:
		return w.valueSchema(f, t.Elem())
	case record.ListShape:
		list := withLimits(object{{"type", "array"}}, "minItems", "maxItems", f)
		return list.with("items", w.wholeSchema(f.Element(), t.Elem()))
	case record.MapShape:
		element := w.valueSchema(f.Element(), t.Elem())
		if w.patch {
			element = orNull(element)
		}
		schema := object{{"type", "object"}, {"additionalProperties", element}}
		if f.Keys != "" {
			schema = schema.with("propertyNames", object{{"pattern", f.Keys}})
		}
		return schema
	case record.RecordShape:
		return w.recordRef(t)
	case record.UnsupportedShape:
		return object{{"not", object{}}}
	default:
		return object{}
	}
}

// wholeSchema returns the schema of a value that a patch replaces as a whole, such as a list
// element.
func (w *schemaWriter) wholeSchema(f *record.Field, t reflect.Type) object {
	defer func(patch bool) { w.patch = patch }(w.patch)
	w.patch = false
	return w.valueSchema(f, t)
}

func textSchema(f *record.Field) object {
	switch {
	case len(f.Enum) > 0:
		return choiceSchema(f.Enum)
	case len(f.LeftOut) > 0:
		return object{{"not", object{}}}
	case f.Pattern != nil:
		return object{{"type", "string"}, {"pattern", "(?:" + f.Pattern.String() + ")|" + reference}}
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
func integerSchema(f *record.Field, t reflect.Type) object {
	schema := withLimits(object{{"type", "integer"}}, "minimum", "maximum", f)
	unsigned := record.ShapeOf(t) == record.UintShape
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

func withLimits(schema object, least, most string, f *record.Field) object {
	if f.Min != nil {
		schema = schema.with(least, json.RawMessage(record.FormatNumber(*f.Min)))
	}
	if f.Max != nil {
		schema = schema.with(most, json.RawMessage(record.FormatNumber(*f.Max)))
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
