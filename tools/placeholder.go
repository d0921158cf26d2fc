package tools

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// IsPlaceholderName reports whether a name can stand in a placeholder,
// {{name}}, of the settings of a tool.
func IsPlaceholderName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// Declaration is what the parameters of a tool say of the names of arguments.
type Declaration struct {
	// Properties are the arguments that the schema lists.
	Properties map[string]json.RawMessage `json:"properties"`
	// Required are the names of those that no call leaves out.
	Required []string `json:"required"`
	// Open says that names cannot be checked: the schema is not valid, or takes
	// its properties from elsewhere.
	Open bool `json:"-"`
}

// DeclaredParameters reads a JSON Schema of arguments. That it is one is
// checked where the tool is registered.
func DeclaredParameters(schema json.RawMessage) Declaration {
	var declared Declaration
	var keys map[string]json.RawMessage
	if len(schema) == 0 {
		return declared
	}
	if json.Unmarshal(schema, &declared) != nil || json.Unmarshal(schema, &keys) != nil {
		return Declaration{Open: true}
	}
	for _, elsewhere := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
		if _, has := keys[elsewhere]; has {
			declared.Open = true
		}
	}
	return declared
}

// Check reports the placeholders of a setting for which there is no parameter.
func (d *Declaration) Check(path string, names map[string]bool) diag.List {
	if d.Open {
		return nil
	}
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, ok := d.Properties[name]; ok {
			continue
		}
		wrong := diag.New(diag.InvalidValue, path, "{{%s}} stands for an argument that parameters does not declare", name)
		wrong = wrong.WithHint("add %s to parameters.properties", name)
		if near, ok := nearest.Of(name, slices.Sorted(maps.Keys(d.Properties))); ok {
			wrong = wrong.WithHint("did you mean {{%s}}?", near)
		}
		list = append(list, wrong)
	}
	return list
}

// Requires reports whether every call has the argument of that name.
func (d *Declaration) Requires(name string) bool { return slices.Contains(d.Required, name) }
