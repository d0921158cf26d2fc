package describe

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/spec"
)

// reference matches texts with a variable. A schema cannot know their values, so it allows them
// wherever it allows text.
const reference = `\$\{`

// extensions are the fields that loading ignores.
var extensions = object{{"^x-.", true}}

// Schema returns the JSON Schema of configuration files.
func Schema(components *Components) json.RawMessage {
	w := newSchemaWriter(components)
	top := object{{"version", object{
		{"description", "The version of the file format."},
		{"const", keys.Version},
	}}}
	for _, r := range keys.Registries {
		top = top.with(r.Name, w.registrySchema(r))
	}
	top = top.with("remote_agents", object{
		{"description", "Peers whose agents are discovered and appear as <name>/<agent>."},
		{"type", []string{"array", "null"}},
		{"items", w.recordRef(reflect.TypeFor[spec.RemoteSource]())},
	})
	top = top.with("defaults", orNull(object{
		{"description", "Defaults of all agents; an agent's own fields override them."},
	}.with("$ref", w.recordRef(keys.DefaultsType)[0].value)))
	top = top.with(keys.Patches, w.patchesSchema())
	for _, s := range keys.Settings {
		top = top.with(s.Name, orNull(object{{"description", s.Doc}}.with("$ref", w.recordRef(s.Type)[0].value)))
	}
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Configuration of the agent runtime"},
		{"type", "object"},
		{"properties", top},
		{"required", []string{"version"}},
		{"patternProperties", extensions},
		{"additionalProperties", false},
		{"$defs", &w.defs},
	}
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return json.RawMessage("true") // only a bad section schema causes this
	}
	return raw
}

// RecordSchema returns the JSON Schema of documents with a record.
func RecordSchema(t reflect.Type, title string) json.RawMessage {
	w := newSchemaWriter(&Components{RecordOf: record.Of})
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", title},
	}
	root = append(root, w.recordRef(t)...)
	root = root.with("$defs", &w.defs)
	raw, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return json.RawMessage("true") // a description is text, which always encodes
	}
	return raw
}

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

// registrySchema returns the schema of a top-level mapping.
func (w *schemaWriter) registrySchema(r keys.Registry) object {
	pattern := spec.IDPattern
	if r.Name == keys.Tools {
		pattern = spec.ToolIDPattern
	}
	schema := object{
		{"description", r.Doc},
		{"type", []string{"object", "null"}},
		{"propertyNames", object{{"pattern", pattern}}},
	}
	switch {
	case r.Name == keys.Workflows:
		return w.withWorkflows(schema)
	case r.Name == keys.Agents:
		return schema.with("additionalProperties", w.agentSchema())
	case r.Type != nil:
		return schema.with("additionalProperties", w.recordRef(r.Type))
	default:
		return schema.with("additionalProperties", w.unionOfKinds(r.EntryName(), w.components.Kinds[r.Name]))
	}
}

// unionOfKinds returns the schema of entries whose type determines their fields.
func (w *schemaWriter) unionOfKinds(name string, kinds []record.Kind) any {
	if len(kinds) == 0 {
		return false
	}
	var types []string
	var variants []any
	for _, k := range kinds {
		r := k.Record()
		if r == nil {
			continue
		}
		def := name + "." + k.Type
		w.addDefinition(def, withDir(w.fieldsSchema(r, k.Summary, object{{"type", object{{"const", k.Type}}}}, r.Fields)))
		types = append(types, k.Type)
		variants = append(variants, ifFieldIs("type", k.Type, def))
	}
	w.addDefinition(name, object{
		{"type", "object"},
		{"properties", object{{"type", choiceSchema(types).with("description", "The kind of the "+name+".")}}},
		{"required", []string{"type"}},
		{"allOf", variants},
	})
	return refTo(name)
}

// dirSchema describes the directory field of an entry, which Document writes.
var dirSchema = object{
	{"description", "The base directory of the entry's relative paths, relative to the file's directory. Only documents of revisions have it."},
	{"type", "string"},
	{"minLength", 1},
}

// withDir returns the schema of an entry plus the field for the directory of its paths.
func withDir(schema object) object {
	for i, m := range schema {
		if properties, ok := m.value.(object); ok && m.name == "properties" {
			schema[i].value = properties.with(keys.Dir, dirSchema)
		}
	}
	return schema
}

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

func refTo(def string) object { return object{{"$ref", "#/$defs/" + def}} }

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
