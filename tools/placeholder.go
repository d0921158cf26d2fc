package tools

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/schema"
)

// IsPlaceholderName reports whether a name is valid in a placeholder, {{name}}, of a tool's
// settings.
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

// PlaceholderPart is a part of a text with placeholders: a literal, or a placeholder for an
// argument if Name is set.
type PlaceholderPart struct{ Literal, Name string }

// The errors do not quote the text, which may be a secret.
var (
	errPlaceholder = errors.New("a placeholder is {{name}} with a name of letters, digits, '_', '-' and '.'")
	errBraces      = errors.New("}} has no {{ before it")
)

// ParsePlaceholders splits a text at its placeholders. Four braces stand for two. Single braces are
// text, even adjacent ones, as long as they are closed: jq and awk have programs like {a:{b:1}}.
// Errors do not quote the text.
func ParsePlaceholders(text string) ([]PlaceholderPart, error) {
	var parts []PlaceholderPart
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, PlaceholderPart{Literal: literal.String()})
			literal.Reset()
		}
	}
	for depth := 0; text != ""; {
		switch {
		case strings.HasPrefix(text, "{{{{"):
			literal.WriteString("{{")
			text = text[4:]
		case strings.HasPrefix(text, "{{"):
			inside, rest, closed := strings.Cut(text[2:], "}}")
			name := strings.Trim(inside, " ")
			if !closed || !IsPlaceholderName(name) {
				return nil, errPlaceholder
			}
			flush()
			parts, text = append(parts, PlaceholderPart{Name: name}), rest
		case depth == 0 && strings.HasPrefix(text, "}}}}"):
			literal.WriteString("}}")
			text = text[4:]
		case depth < 2 && strings.HasPrefix(text, "}}"):
			return nil, errBraces
		default:
			switch text[0] {
			case '{':
				depth++
			case '}':
				depth = max(depth-1, 0)
			}
			literal.WriteByte(text[0])
			text = text[1:]
		}
	}
	flush()
	return parts, nil
}

// Declaration is the set of argument names that a tool's parameters declare.
type Declaration struct {
	// Properties are the arguments that the schema lists.
	Properties map[string]json.RawMessage `json:"properties"`
	// Required are the names of the required arguments.
	Required []string `json:"required"`
	// Open reports that names cannot be checked, because the schema is invalid or defines
	// properties elsewhere.
	Open bool `json:"-"`
}

// DeclaredParameters reads a JSON Schema of arguments. The registry checks that it is a valid
// schema.
func DeclaredParameters(parameters json.RawMessage) Declaration {
	var declared Declaration
	var keys map[string]json.RawMessage
	if len(parameters) == 0 {
		return declared
	}
	if json.Unmarshal(parameters, &declared) != nil || json.Unmarshal(parameters, &keys) != nil {
		return Declaration{Open: true}
	}
	_, declared.Open = schema.FindShorthand(parameters)
	for _, elsewhere := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"} {
		if _, has := keys[elsewhere]; has {
			declared.Open = true
		}
	}
	return declared
}

// Check reports placeholders of a setting that are not parameters.
func (d *Declaration) Check(path string, names map[string]bool) diag.List {
	if d.Open {
		return nil
	}
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, ok := d.Properties[name]; ok {
			continue
		}
		wrong := diag.New(diag.InvalidValue, path, "{{%s}} refers to an argument that parameters does not declare", name)
		wrong = wrong.WithHint("add %s to parameters.properties", name)
		if near, ok := nearest.Of(name, slices.Sorted(maps.Keys(d.Properties))); ok {
			wrong = wrong.WithHint("did you mean {{%s}}?", near)
		}
		list = append(list, wrong)
	}
	return list
}

// Requires reports whether every call must have the argument with that name.
func (d *Declaration) Requires(name string) bool { return slices.Contains(d.Required, name) }
