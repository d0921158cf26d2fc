package describe

import (
	"reflect"
	"strconv"

	"github.com/agentruntime/agentruntime/config/internal/record"
)

// schemaWriter collects the definitions referenced by a schema.
type schemaWriter struct {
	components *Components
	defs       object
	names      map[recordForm]string
	taken      map[string]bool
	// patch is set while writing the schema of patch contents: no field is required, and null
	// clears any field.
	patch bool
}

func newSchemaWriter(components *Components) *schemaWriter {
	return &schemaWriter{components: components, names: map[recordForm]string{}, taken: map[string]bool{}}
}

// recordForm is a record or its patch form.
type recordForm struct {
	typ   reflect.Type
	patch bool
}

func (w *schemaWriter) addDefinition(name string, schema object) {
	w.taken[name] = true
	for i := range w.defs {
		if w.defs[i].name == name {
			w.defs[i].value = schema
			return
		}
	}
	w.defs = w.defs.with(name, schema)
}

func refTo(def string) object { return object{{"$ref", "#/$defs/" + def}} }

// ifFieldIs returns a condition: if the field has the value, the definition applies.
func ifFieldIs(field, value, def string) object {
	return object{
		{"if", object{
			{"properties", object{{field, object{{"const", value}}}}},
			{"required", []string{field}},
		}},
		{"then", refTo(def)},
	}
}

// definitionName returns the name of a record's definition: its type's name, made unique.
func (w *schemaWriter) definitionName(t reflect.Type) string {
	own := record.NameOf(t)
	if w.patch {
		own = patchName(own)
	}
	name := own
	for i := 2; w.taken[name]; i++ {
		name = own + strconv.Itoa(i)
	}
	return name
}

// patchName returns the name of a patch's definition.
func patchName(name string) string { return "patch." + name }
