package describe

import (
	"reflect"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/record"
)

// extensions are the fields that loading ignores.
var extensions = object{{"^x-.", true}}

// recordRef returns a reference to a record's definition, adding the definition on first use.
func (w *schemaWriter) recordRef(t reflect.Type) object {
	form := recordForm{t, w.patch}
	name, ok := w.names[form]
	if !ok {
		name = w.definitionName(t)
		w.names[form] = name
		w.addDefinition(name, nil) // reserves its place before its fields'
		r := w.components.RecordOf(t)
		if r.Variant != nil && !w.patch {
			w.addDefinition(name, w.variantsSchema(name, r))
		} else {
			w.addDefinition(name, w.fieldsSchema(r, "", nil, r.Fields))
		}
	}
	return refTo(name)
}

// variantsSchema returns the schema of a record whose type field determines its other fields.
func (w *schemaWriter) variantsSchema(name string, r *record.Type) object {
	var conditions []any
	for _, variant := range r.Variant.Enum {
		var fields []*record.Field
		for _, f := range r.Fields {
			if f != r.Variant && (len(f.Of) == 0 || slices.Contains(f.Of, variant)) {
				fields = append(fields, f)
			}
		}
		def := name + "." + variant
		w.addDefinition(def, w.fieldsSchema(r, "", object{{r.Variant.Name, object{{"const", variant}}}}, fields))
		conditions = append(conditions, ifFieldIs(r.Variant.Name, variant, def))
	}
	return object{
		{"type", "object"},
		{"properties", object{{r.Variant.Name, w.propertySchema(r, r.Variant)}}},
		{"required", []string{r.Variant.Name}},
		{"allOf", conditions},
	}
}

// dependingSchemas returns the conditions under which texts are required.
func dependingSchemas(fields []*record.Field) []any {
	var conditions []any
	for _, f := range fields {
		if f.When == nil {
			continue
		}
		then := "then"
		if f.When.Negated {
			then = "else"
		}
		conditions = append(conditions, object{
			{"if", object{
				{"properties", object{{f.When.Field, object{{"const", f.When.Value}}}}},
				{"required", []string{f.When.Field}},
			}},
			{then, object{
				{"properties", object{{f.Name, nonEmptySchema(f)}}},
				{"required", []string{f.Name}},
			}},
		})
	}
	return conditions
}

// nonEmptySchema returns the schema of a required field.
func nonEmptySchema(f *record.Field) object {
	if f.Type.Kind() == reflect.String {
		return object{{"type", "string"}, {"minLength", 1}}
	}
	return object{{"not", object{{"type", "null"}}}}
}

// fieldsSchema returns the schema of a record restricted to the given fields, plus the given
// properties.
func (w *schemaWriter) fieldsSchema(r *record.Type, summary string, properties object, fields []*record.Field) object {
	var required []string
	var clashes []any
	for _, m := range properties {
		required = append(required, m.name)
	}
	for _, f := range fields {
		if properties.has(f.Name) {
			continue
		}
		properties = properties.with(f.Name, w.propertySchema(r, f))
		spelled := []string{f.Name}
		for _, s := range f.Spellings {
			properties = properties.with(s.Name, orNull(object{
				{"description", "The same as " + f.Name + ", as a number of " + s.UnitName() + "."},
				{"type", "number"},
				{"minimum", 0},
			}))
			for _, other := range spelled {
				clashes = append(clashes, object{{"not", object{{"required", []string{other, s.Name}}}}})
			}
			spelled = append(spelled, s.Name)
		}
		if f.Required && !w.patch {
			required = append(required, f.Name)
		}
	}
	if !w.patch {
		clashes = append(clashes, dependingSchemas(fields)...)
	}
	schema := object{}.withText("description", summary).with("type", "object")
	if len(properties) > 0 {
		schema = schema.with("properties", properties)
	}
	if len(required) > 0 {
		schema = schema.with("required", required)
	}
	if len(clashes) > 0 {
		schema = schema.with("allOf", clashes)
	}
	return schema.with("patternProperties", extensions).with("additionalProperties", false)
}
