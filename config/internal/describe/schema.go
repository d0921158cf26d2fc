package describe

import (
	"encoding/json"
	"reflect"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/spec"
)

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
