package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// outputSchema has the parts of an answer's JSON Schema that describe its structure.
type outputSchema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Items      json.RawMessage            `json:"items"`
}

// findMissing returns the position in a path of the first part that a value of a schema cannot
// have, with the names that exist; -1 if none is known to be missing.
func findMissing(raw json.RawMessage, path Path) (position int, known []string) {
	for i, segment := range path {
		var s outputSchema
		if json.Unmarshal(raw, &s) != nil {
			return -1, nil
		}
		next, missing := s.part(segment)
		if missing {
			return i, slices.Sorted(maps.Keys(s.Properties))
		}
		if next == nil {
			return -1, nil
		}
		raw = next
	}
	return -1, nil
}

// part returns the schema of a part of a value, nil if it is unknown; missing reports that the
// part cannot exist.
func (s *outputSchema) part(segment Segment) (next json.RawMessage, missing bool) {
	types := s.types()
	if segment.IsIndex {
		return s.Items, len(types) > 0 && !slices.Contains(types, "array")
	}
	if next, ok := s.Properties[segment.Name]; ok {
		return next, false
	}
	closed := len(s.Properties) > 0 && string(s.Additional) != "true" && (len(s.Additional) == 0 || s.Additional[0] != '{')
	return nil, closed || len(types) > 0 && !slices.Contains(types, "object")
}

// types returns the types that the schema allows; nil if unspecified.
func (s *outputSchema) types() []string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return []string{one}
	}
	var list []string
	if json.Unmarshal(s.Type, &list) != nil {
		return nil
	}
	return list
}

// TypesAt returns the possible types of the part of an answer at a path; nil if unknown.
func TypesAt(raw json.RawMessage, path Path) []string {
	for _, segment := range path {
		var s outputSchema
		if json.Unmarshal(raw, &s) != nil {
			return nil
		}
		if raw, _ = s.part(segment); raw == nil {
			return nil
		}
	}
	var s outputSchema
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return s.types()
}

// joinNames joins names into a list for people.
func joinNames(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
