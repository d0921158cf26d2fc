package describe

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// patchesSchema returns the schema of patches. No field is required, because required fields are
// checked when the entry is merged.
func (w *schemaWriter) patchesSchema() object {
	p := *w
	p.patch = true
	mayWiden := object{
		{"description", "Whether the patch may let agents do more than they may without it; otherwise that is an error."},
		{"type", []string{"boolean", "null"}},
	}
	var properties object
	for _, r := range keys.Registries {
		if !slices.Contains(keys.Patchable, r.Name) {
			continue
		}
		pattern := spec.IDPattern
		if r.Name == keys.Tools {
			pattern = spec.ToolIDPattern
		}
		properties = properties.with(r.Name, object{
			{"description", "Patches of " + r.Name + ": the id of an entry to what changes; null removes the entry."},
			{"type", []string{"object", "null"}},
			{"propertyNames", object{{"pattern", pattern}}},
			{"additionalProperties", object{{"anyOf", []any{p.entryPatch(r, mayWiden), object{{"type", "null"}}}}}},
		})
	}
	w.defs = p.defs
	all := object{
		{"description", keys.AllowWideningDoc},
		{"type", []string{"boolean", "null"}},
	}
	w.addDefinition(keys.Patches, closedSchema(properties.with(keys.AllowWidening, all)))
	return orNull(object{
		{"description", keys.PatchesDoc},
	}.with("$ref", refTo(keys.Patches)[0].value))
}

// agentSchema returns the schema of an agent. An agent that extends another may have incomplete
// records, and null for cleared fields.
func (w *schemaWriter) agentSchema() object {
	whole := w.recordRef(keys.AgentType)
	p := *w
	p.patch = true
	fields := p.patchOf(record.Of(keys.AgentType))
	w.defs = p.defs
	const name = "agent.extending"
	w.addDefinition(name, closedSchema(fields))
	return object{
		{"if", object{
			{"properties", object{{keys.Extends, object{{"type", "string"}}}}},
			{"required", []string{keys.Extends}},
		}},
		{"then", refTo(name)},
		{"else", whole},
	}
}

// entryPatch returns the schema of a patch of an entry.
func (w *schemaWriter) entryPatch(r keys.Registry, mayWiden object) object {
	if r.Type == nil {
		return w.kindsPatch(r.EntryName(), w.components.Kinds[r.Name], mayWiden)
	}
	properties := w.patchOf(record.Of(r.Type))
	if r.Name == keys.Workflows {
		for _, t := range []reflect.Type{reflect.TypeFor[workflow.GestaltTrigger](), reflect.TypeFor[workflow.GestaltSchedule]()} {
			properties = append(properties, w.patchOf(record.Of(t))...)
		}
	}
	return w.addPatch(record.NameOf(r.Type), properties, nil, mayWiden)
}

// patchOf returns the properties of a patch of a record.
func (w *schemaWriter) patchOf(r *record.Type) object {
	for _, m := range w.fieldsSchema(r, "", nil, r.Fields) {
		if properties, ok := m.value.(object); ok && m.name == "properties" {
			return properties
		}
	}
	return nil
}

// kindsPatch returns the schema of a patch of an entry of unknown type: it may have the fields of
// all kinds.
func (w *schemaWriter) kindsPatch(name string, kinds []record.Kind, mayWiden object) object {
	var properties object
	var types []string
	alternatives := map[string][]any{}
	for _, k := range kinds {
		r := k.Record()
		if r == nil {
			continue
		}
		types = append(types, k.Type)
		for _, m := range w.patchOf(r) {
			if !properties.has(m.name) {
				properties = properties.with(m.name, nil)
			}
			alternatives[m.name] = addAlternative(alternatives[m.name], m.value)
		}
	}
	for i := range properties {
		of := alternatives[properties[i].name]
		properties[i].value = object{{"anyOf", of}}
		if len(of) == 1 {
			properties[i].value = of[0]
		}
	}
	var kind object
	if len(types) > 0 {
		kind = choiceSchema(types).with("description", "The kind of the "+name+".")
	}
	return w.addPatch(name, properties, kind, mayWiden)
}

// closedSchema returns the schema of objects without other properties than these and extensions.
func closedSchema(properties object) object {
	return object{{"type", "object"}, {"properties", properties}, {"patternProperties", extensions}, {"additionalProperties", false}}
}

// addAlternative adds a schema to a list unless it is already present.
func addAlternative(list []any, schema any) []any {
	text, err := json.Marshal(schema)
	for _, other := range list {
		if known, e := json.Marshal(other); err == nil && e == nil && bytes.Equal(known, text) {
			return list
		}
	}
	return append(list, schema)
}

// addPatch adds the definition of a patch and returns a reference to it.
func (w *schemaWriter) addPatch(name string, fields, kind, mayWiden object) object {
	var properties object
	if kind != nil {
		properties = properties.with("type", orNull(kind))
	}
	for _, m := range fields {
		if !properties.has(m.name) {
			properties = append(properties, m)
		}
	}
	def := patchName(name)
	w.addDefinition(def, closedSchema(properties.with(keys.AllowWidening, mayWiden)))
	return refTo(def)
}
