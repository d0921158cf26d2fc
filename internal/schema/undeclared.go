package schema

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Undeclared is a property that a part of a schema requires and does not describe.
type Undeclared struct {
	// Path leads to the element of required.
	Path []string
	// Name is the property.
	Name string
	// Declared are the properties that the part describes.
	Declared []string
}

// FindUndeclared returns the required properties that the properties beside them lack. Parts
// that may describe properties elsewhere, such as with allOf or $ref, are skipped.
func FindUndeclared(raw json.RawMessage) []Undeclared { return findUndeclared(raw, nil) }

func findUndeclared(raw json.RawMessage, path []string) (found []Undeclared) {
	members := membersOf(raw)
	if len(path) > 2*maxNested {
		return nil
	}
	at := func(names ...string) []string { return append(slices.Clip(path), names...) }
	var declared, required []string
	for _, m := range members {
		switch m.name {
		case "properties":
			for _, p := range membersOf(m.value) {
				declared = append(declared, p.name)
				found = append(found, findUndeclared(p.value, at(m.name, p.name))...)
			}
		case "items":
			found = append(found, findUndeclared(m.value, at(m.name))...)
		case "required":
			_ = json.Unmarshal(m.value, &required) // compiling reports another type
		}
	}
	if len(declared) == 0 || slices.ContainsFunc(members, describesElsewhere) {
		return found
	}
	for i, name := range required {
		if !slices.Contains(declared, name) {
			found = append(found, Undeclared{Path: at("required", strconv.Itoa(i)), Name: name, Declared: declared})
		}
	}
	return found
}

// describesElsewhere reports whether a member of a schema may describe properties. A truth value
// of additionalProperties describes none.
func describesElsewhere(m member) bool {
	switch m.name {
	case "properties", "propertyNames", "not", "enum", "const":
		return false
	case "additionalProperties", "unevaluatedProperties":
		return len(membersOf(m.value)) > 0
	default:
		return slices.Contains(composing, m.name)
	}
}
